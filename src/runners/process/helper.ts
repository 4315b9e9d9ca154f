import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { endGroup, signalName } from './confined-process.ts';
import {
  KEPT_VARIABLES,
  type LaunchedProcess,
  type Launcher,
  type LaunchListener,
  type LaunchRequest,
  type OwnFolders,
  type ProcessEnd,
} from './launcher.ts';
import { requestProblem } from './shell-limits.ts';

/** How much unread input may be in flight to a program. The rest waits here. */
const WINDOW_BYTES = 256 * 1024;
const EMPTY = Buffer.alloc(0);

/** One program that a helper was asked to start. */
class HelperLaunch implements LaunchedProcess {
  private pid: number | undefined;
  /** Whether the helper is done with it. */
  private isOver = false;
  private input: Buffer[] = [];
  private isInputEnded = false;
  /** How many more bytes the helper accepts now; none before the process exists. */
  private window = 0;
  private lastSignal: 'SIGTERM' | 'SIGKILL' | undefined;
  /** The fallback launch, if the helper turned out to be unusable. */
  private substitute: LaunchedProcess | undefined;

  constructor(
    private readonly id: number,
    private readonly request: LaunchRequest,
    private readonly listener: LaunchListener,
    private readonly send: (frame: Buffer) => void,
  ) {}

  write(chunk: Buffer | string): void {
    this.substitute?.write(chunk);
    if (this.isOver || this.isInputEnded || !this.request.input || chunk.length === 0) return;
    this.input.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    this.pump();
  }

  endInput(): void {
    this.substitute?.endInput();
    if (this.isOver || this.isInputEnded) return;
    this.isInputEnded = true;
    if (this.pid !== undefined && this.input.length === 0) this.sendFrame('E', EMPTY);
  }

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.substitute?.kill(signal);
    if (this.isOver) return;
    this.lastSignal = signal;
    this.sendFrame('K', Buffer.of(constants.signals[signal]));
  }

  /** Handles a frame from the helper. Returns true for the last one. */
  take(type: FrameFromHelper, payload: Buffer): boolean {
    switch (type) {
      case 'S':
        this.pid = payload.readUInt32LE(0);
        this.listener.started(this.pid);
        this.window = WINDOW_BYTES;
        this.pump();
        if (this.isInputEnded && this.input.length === 0) this.sendFrame('E', EMPTY);
        return false;
      case 'O':
        this.listener.data('stdout', payload);
        return false;
      case 'R':
        this.listener.data('stderr', payload);
        return false;
      case 'C':
        this.listener.data('channel', payload);
        return false;
      case 'A':
        this.window += payload.readUInt32LE(0);
        this.pump();
        return false;
      case 'X':
        this.end(decodeEnd(payload));
        return true;
      case 'H':
        return false;
    }
  }

  /** The helper is gone, and with it the program, but perhaps not all of its group yet. */
  async lose(reason: string): Promise<void> {
    const { pid } = this;
    if (pid === undefined) return this.end({ ...NOTHING, startError: reason });
    await endGroup(pid);
    this.end({ ...NOTHING, signal: 'SIGKILL' });
  }

  /** Moves the launch to another launcher, because the helper could never be used. */
  moveTo(launcher: Launcher): void {
    const substitute = launcher.launch(this.request, this.listener);
    for (const chunk of this.input) substitute.write(chunk);
    if (this.isInputEnded) substitute.endInput();
    if (this.lastSignal !== undefined) substitute.kill(this.lastSignal);
    this.input = [];
    this.isOver = true;
    this.substitute = substitute;
  }

  private end(end: ProcessEnd): void {
    this.isOver = true;
    this.input = [];
    this.listener.ended(end);
  }

  private pump(): void {
    while (this.window > 0 && this.input.length > 0) {
      const chunk = this.input[0]!;
      const part = chunk.subarray(0, this.window);
      if (part.length === chunk.length) this.input.shift();
      else this.input[0] = chunk.subarray(part.length);
      this.window -= part.length;
      this.sendFrame('W', part);
      if (this.input.length === 0 && this.isInputEnded) this.sendFrame('E', EMPTY);
    }
  }

  private sendFrame(type: FrameToHelper, payload: Buffer): void {
    this.send(encodeHelperFrame(this.id, type, payload));
  }
}

const NOTHING: ProcessEnd = {
  exitCode: undefined,
  signal: undefined,
  startError: undefined,
  cpuMs: undefined,
};

function decodeEnd(payload: Buffer): ProcessEnd {
  if (payload.length > 8) return { ...NOTHING, startError: payload.toString('utf8', 8) };
  const status = payload.readUInt32LE(0);
  const signal = status & 127;
  return {
    exitCode: signal === 0 ? status >> 8 : undefined,
    signal: signal === 0 ? undefined : (signalName(signal) ?? `signal ${signal}`),
    startError: undefined,
    cpuMs: payload.readUInt32LE(4),
  };
}

/** Payload length, launch id, type. The header of launcher.pl documents the payload of each type. */
const HEADER_BYTES = 9;

type FrameToHelper = 'L' | 'W' | 'E' | 'K' | 'B' | 'D';
type FrameFromHelper = 'H' | 'S' | 'O' | 'R' | 'C' | 'A' | 'X';

export function encodeHelperFrame(id: number, type: FrameToHelper, payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  writeHeader(frame, payload.length, id, type);
  payload.copy(frame, HEADER_BYTES);
  return frame;
}

function encodeLaunch(id: number, request: LaunchRequest): Buffer {
  const { argv, words = [], cwd, env, limits, cgroups, sandbox } = request;
  const flags = (request.input ? 'i' : '') + (request.channel ? 'c' : '');
  const parts = [cwd, flags, sandbox === undefined ? '' : String(sandbox), limitText(limits)];
  for (const list of [cgroups, words, argv]) parts.push(String(list.length), ...list);
  for (const name in env) if (!KEPT_VARIABLES.has(name)) parts.push(`${name}=${env[name]}`);
  return encodeStrings(id, 'L', parts);
}

function encodeStrings(id: number, type: FrameToHelper, parts: readonly string[]): Buffer {
  let length = 0;
  for (const part of parts) length += 4 + Buffer.byteLength(part);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  writeHeader(frame, length, id, type);
  let at = HEADER_BYTES;
  for (const part of parts) {
    const written = frame.write(part, at + 4);
    frame.writeUInt32LE(written, at);
    at += 4 + written;
  }
  return frame;
}

function limitText({
  cpuSeconds,
  openFiles,
  processes,
  dataBytes,
  fileBytes,
}: LaunchRequest['limits']): string {
  let text = '';
  if (cpuSeconds !== undefined) text += `cpu=${cpuSeconds} `;
  if (openFiles !== undefined) text += `open=${openFiles} `;
  if (processes !== undefined) text += `processes=${processes} `;
  if (dataBytes !== undefined) text += `data=${dataBytes} `;
  if (fileBytes !== undefined) text += `file=${fileBytes} `;
  return text;
}

function writeHeader(frame: Buffer, length: number, id: number, type: FrameToHelper): void {
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(id, 4);
  frame[8] = type.charCodeAt(0);
}

/** Splits the helper's output into frames. A payload is a view of the chunk, not a copy. */
export class HelperFrameReader {
  /** The beginning of an incomplete frame. */
  private parts: Buffer[] = [];
  private partBytes = 0;
  /** How many bytes are needed before parsing can continue. */
  private awaitedBytes = 0;

  constructor(private readonly take: (id: number, type: FrameFromHelper, payload: Buffer) => void) {}

  push(chunk: Buffer): void {
    if (this.partBytes > 0) {
      this.parts.push(chunk);
      this.partBytes += chunk.length;
      if (this.partBytes < this.awaitedBytes) return;
      chunk = Buffer.concat(this.parts, this.partBytes);
      this.parts = [];
      this.partBytes = 0;
    }
    let at = 0;
    this.awaitedBytes = HEADER_BYTES;
    while (chunk.length - at >= HEADER_BYTES) {
      const length = chunk.readUInt32LE(at);
      const end = at + HEADER_BYTES + length;
      if (end > chunk.length) {
        this.awaitedBytes = HEADER_BYTES + length;
        break;
      }
      const type = String.fromCharCode(chunk[at + 8]!) as FrameFromHelper;
      this.take(chunk.readUInt32LE(at + 4), type, chunk.subarray(at + HEADER_BYTES, end));
      at = end;
    }
    if (at < chunk.length) {
      this.parts = [chunk.subarray(at)];
      this.partBytes = chunk.length - at;
    }
  }
}

const SCRIPT = fileURLToPath(new URL('./launcher.pl', import.meta.url));
const CLOSE_LIMIT_MS = 5000;
const MAX_COMPLAINT_LENGTH = 1000;

/** How launcher.pl is run. */
export interface HelperCommand {
  readonly perl: string;
  /** The architecture whose system call numbers it uses, or that it works without. */
  readonly mode: 'x86_64' | 'aarch64' | 'portable';
}

/** One running launcher.pl and its launches. */
export class Helper {
  /** Whether it reported that it works. */
  isReady = false;
  /** Settles when the process is gone, with the reason. */
  readonly gone: Promise<string>;
  /** The ids of those it keeps. */
  readonly sandboxes = new Set<number>();
  private readonly launches = new Map<number, HelperLaunch>();
  private readonly child: ChildProcessWithoutNullStreams;
  private lastId = 0;
  private outbox: Buffer[] = [];
  private complaint = '';

  constructor({ perl, mode }: HelperCommand) {
    const { PATH } = process.env;
    this.child = spawn(perl, [SCRIPT, mode], {
      cwd: '/',
      // Error messages in English, and no perl settings of the user. Symbols are bound once, here, and not in each child.
      env: { PATH, LC_ALL: 'C', LD_BIND_NOW: '1' },
      // Its own session: no terminal reaches it or what it starts.
      detached: true,
      stdio: 'pipe',
    });
    const { child } = this;
    this.gone = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) =>
        resolve(`it ended with ${signal ?? `exit status ${code}`}${this.complaint && `: ${this.complaint}`}`),
      );
    });
    const reader = new HelperFrameReader((id, type, payload) => {
      if (type === 'H') this.isReady = true;
      else if (this.launches.get(id)?.take(type, payload)) this.forget(id);
    });
    child.stdout.on('data', (chunk: Buffer) => reader.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      this.complaint = (this.complaint + chunk.toString()).slice(0, MAX_COMPLAINT_LENGTH).trim();
    });
    // A write to a helper that died; `gone` reports it.
    child.stdin.on('error', () => {});
    child.unref();
    (child.stderr as Socket).unref();
    this.holdProcess(false);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  launch(request: LaunchRequest, listener: LaunchListener): HelperLaunch {
    const id = ++this.lastId;
    const launch = new HelperLaunch(id, request, listener, this.send);
    if (this.launches.size === 0) this.holdProcess(true);
    this.launches.set(id, launch);
    const problem = requestProblem(request);
    if (problem === undefined) this.send(encodeLaunch(id, request));
    else queueMicrotask(() => this.refuse(id, problem));
    return launch;
  }

  keepSandbox(id: number, pid: number, { tmpBytes, sharedMemoryBytes, network, belowTmp }: OwnFolders): void {
    const sizes = [tmpBytes === undefined ? '' : String(tmpBytes), String(sharedMemoryBytes)];
    this.sandboxes.add(id);
    this.send(encodeStrings(id, 'B', [String(pid), ...sizes, network ? 'n' : '', ...belowTmp]));
  }

  dropSandbox(id: number): void {
    if (this.sandboxes.delete(id)) this.send(encodeHelperFrame(id, 'D', EMPTY));
  }

  /** The unfinished launches, for another launcher to take over. */
  abandon(): HelperLaunch[] {
    const launches = [...this.launches.values()];
    this.launches.clear();
    this.outbox = [];
    return launches;
  }

  /** Closes its input, which makes it kill everything and exit. */
  async close(): Promise<void> {
    this.child.ref();
    this.child.stdin.destroy();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), CLOSE_LIMIT_MS);
    await this.gone;
    clearTimeout(timer);
  }

  private refuse(id: number, problem: string): void {
    void this.launches.get(id)?.lose(problem);
    this.forget(id);
  }

  private forget(id: number): void {
    this.launches.delete(id);
    if (this.launches.size === 0) this.holdProcess(false);
  }

  /** Keeps this process alive for the helper only while something runs. */
  private holdProcess(hold: boolean): void {
    for (const stream of [this.child.stdin, this.child.stdout] as unknown as Socket[]) {
      if (hold) stream.ref();
      else stream.unref();
    }
  }

  /** Sends all frames of one event loop turn together. */
  private readonly send = (frame: Buffer): void => {
    if (this.outbox.push(frame) === 1) process.nextTick(this.flush);
  };

  private readonly flush = (): void => {
    const { outbox } = this;
    if (outbox.length === 0) return;
    this.outbox = [];
    this.child.stdin.write(outbox.length === 1 ? outbox[0]! : Buffer.concat(outbox));
  };
}
