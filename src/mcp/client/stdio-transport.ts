import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { endGroup, signalGroup } from '../../runners/process/confined-process.ts';
import { MAX_MESSAGE_BYTES } from './limits.ts';

const LINE_FEED = 0x0a;

/** Cuts a stream into lines. Each byte is looked at once, however long a line gets. */
class LineReader {
  private pieces: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly longest: number) {}

  /** The lines that end in this piece. False where one got longer than it may: nothing can be read any more. */
  take(chunk: Buffer, give: (line: string) => void): boolean {
    let from = 0;
    for (let to = chunk.indexOf(LINE_FEED); to !== -1; to = chunk.indexOf(LINE_FEED, from)) {
      this.pieces.push(chunk.subarray(from, to));
      give(Buffer.concat(this.pieces).toString());
      this.clear();
      from = to + 1;
    }
    this.pieces.push(chunk.subarray(from));
    this.bytes += chunk.length - from;
    return this.bytes <= this.longest;
  }

  clear(): void {
    this.pieces = [];
    this.bytes = 0;
  }
}

/** How much of the last words of a program is remembered. */
const MAX_STDERR = 2000;
/** How long a program may take to exit after its input is closed, and again after it is asked to terminate. */
const GRACE_MS = 1000;
/** How long streams are read after the end of a program: who left its group may hold them open for ever. */
const LINGER_MS = 500;

/** Groups of programs that run: whatever way this process ends, they end with it. */
const running = new Set<number>();
let isWatching = false;

function watchExit(): void {
  if (isWatching) return;
  isWatching = true;
  process.on('exit', () => {
    for (const pid of running) signalGroup(pid, 'SIGKILL');
  });
}

/** What is started. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Speaks to a server over the input and output of its process. The one of the SDK ends the process only; here that is
 * a group of its own, so that what the program has started (npx starts a shell, which starts Node) ends with it.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Called with what the program writes to its error stream. */
  onstderr?: (chunk: Buffer) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private child: ChildProcess | undefined;
  private readonly lines = new LineReader(MAX_MESSAGE_BYTES);
  private said = '';
  private ending: Promise<void> | undefined;
  private isOver = false;
  private isGathering = false;

  constructor(private readonly program: Program) {}

  /** The last output of the program, to explain why it ended. */
  get lastWords(): string {
    return this.said.trim();
  }

  /** Together with `stderr`, this signals to the SDK that silence does not mean a broken network. */
  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  get stderr(): null {
    return null;
  }

  start(): Promise<void> {
    const { command, args, cwd, env } = this.program;
    watchExit();
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd,
        env,
        detached: true,
        windowsHide: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      this.child = child;
      child.once('spawn', () => {
        running.add(child.pid!);
        resolve();
      });
      child.once('error', (error) => {
        reject(error);
        this.finish();
      });
      child.once('exit', () => void this.ended(child.pid!));
      child.stdin!.on('error', (error) => this.onerror?.(error));
      child.stdout!.on('error', (error) => this.onerror?.(error));
      child.stderr!.on('error', () => {});
      child.stdout!.on('data', (chunk: Buffer) => this.take(chunk));
      child.stderr!.on('data', (chunk: Buffer) => {
        this.said = (this.said + chunk.toString()).slice(-MAX_STDERR);
        this.onstderr?.(chunk);
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const input = this.child?.stdin;
      if (this.isOver || !input?.writable) return reject(new Error('The server has ended.'));
      this.gather(input);
      input.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** What is sent in one turn goes out as one: a batch begins with many calls at once. */
  private gather(input: Writable): void {
    if (this.isGathering) return;
    this.isGathering = true;
    input.cork();
    setImmediate(() => {
      this.isGathering = false;
      input.uncork();
    });
  }

  /** Ends the program at once. */
  kill(): void {
    if (!this.isOver && this.child?.pid !== undefined) signalGroup(this.child.pid, 'SIGKILL');
  }

  /** Nothing of the program is left when it returns. */
  close(): Promise<void> {
    this.ending ??= this.end();
    return this.ending;
  }

  private async end(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined) return this.finish();
    child.stdin!.end();
    await this.isEndedWithin(GRACE_MS);
    if (!this.isOver && signalGroup(child.pid, 'SIGTERM')) await this.isEndedWithin(GRACE_MS);
    await this.ended(child.pid);
  }

  private async isEndedWithin(ms: number): Promise<void> {
    const { child } = this;
    if (child!.exitCode !== null || child!.signalCode !== null) return;
    const waiting = new AbortController();
    const exited = () => waiting.abort();
    child!.once('exit', exited);
    await delay(ms, undefined, { signal: waiting.signal }).catch(() => {});
    child!.off('exit', exited);
  }

  /** The program has ended or must end: ends what is left of its group, too. */
  private async ended(pid: number): Promise<void> {
    await endGroup(pid);
    running.delete(pid);
    if (this.isOver) return;
    const { stdout, stderr } = this.child!;
    const waiting = new AbortController();
    this.child!.once('close', () => waiting.abort());
    if (!stdout!.destroyed || !stderr!.destroyed)
      await delay(LINGER_MS, undefined, { signal: waiting.signal }).catch(() => {});
    this.finish();
  }

  private take(chunk: Buffer): void {
    if (this.lines.take(chunk, this.read)) return;
    this.said = `it sent a message of more than ${MAX_MESSAGE_BYTES} bytes.`;
    // The start of the next message cannot be found.
    this.child!.stdout!.destroy();
    this.kill();
  }

  private readonly read = (line: string): void => {
    const message = messageOf(line);
    if (message !== undefined) this.onmessage?.(message);
  };

  private finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.lines.clear();
    for (const stream of this.child?.stdio ?? []) stream?.destroy();
    this.onclose?.();
  }
}

/**
 * What a line says; undefined where it is no message, for programs print all sorts of things. An answer that is none is
 * one that says so: the call that it is for would wait for ever.
 */
function messageOf(line: string): JSONRPCMessage | undefined {
  if (!/^\s*\{/.test(line)) return undefined;
  let value: { readonly id?: unknown; readonly method?: unknown };
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  try {
    return parseJSONRPCMessage(value);
  } catch {
    const { id, method } = value;
    if (method !== undefined || (typeof id !== 'number' && typeof id !== 'string')) return undefined;
    const error = { code: ProtocolErrorCode.ParseError, message: 'it is not a JSON-RPC 2.0 response' };
    return { jsonrpc: '2.0', id, error };
  }
}
