import { statSync } from 'node:fs';
import type { CallToolResult, Tool as ServerTool } from '@modelcontextprotocol/client';
import type { McpServerSettings } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import { spanText } from '../../core/words.ts';
import { CallFailure, isLoginNeeded, problemText } from './call-failure.ts';
import type { CalledName, CallFollowing, Connection, Target } from './connection.ts';

/** The pause after a start that failed; each further one is twice as long. Calls that come meanwhile fail at once. */
const START_PAUSE_MS = 1000;
/** The pause after a second end without an answer in between, likewise. Calls wait for it, if it is not too long. */
const END_PAUSE_MS = 250;
const MAX_WAIT_MS = 2000;
const MAX_PAUSE_MS = 30_000;

/** Names of Volley's own: a batch that calls a batch could go on for ever. */
const OWN_TOOL = 'batch_executor_tool';
const OWN_NAME = 'volley';
const ITSELF = 'it is Volley itself, and a batch cannot call batches';

interface LinkParts {
  readonly name: string;
  readonly settings: McpServerSettings;
  /** How it is reached, asked before each start. Throws where a reference leads nowhere. */
  target(): Target;
  /** Called with the tools whenever the server lists them. */
  tools(tools: readonly ServerTool[]): Promise<void>;
  /** Takes secrets out of what the server says. */
  redact(text: string): string;
}

/** A server: started when it is first needed, kept, and started again when it has ended. */
export class ServerLink {
  private status: Exclude<McpServerStatus, 'waiting'> = 'idle';
  private opening: Promise<Connection> | undefined;
  private connection: Connection | undefined;
  private readonly closing = new AbortController();
  /** Connections that ended or are ending, and may still be there. */
  private readonly leaving = new Set<Promise<void>>();
  /** Failed starts and unexpected exits since the last answered call. */
  private failures = 0;
  private notBefore = 0;
  /** How much of a pause a call waits for. */
  private patienceMs = 0;
  private starts = 0;
  private calls = 0;
  private failedCalls = 0;
  private problem: string | undefined;
  /** Set if the last start failed for want of a login. */
  private needsLogin: VolleyError | undefined;
  private isBeingAsked = false;

  constructor(private readonly parts: LinkParts) {}

  /** The server, started if it is not. All who ask meanwhile share the answer, be it an error. */
  ready(): Promise<Connection> {
    if (this.status === 'closed') return Promise.reject(this.failure('was closed'));
    if (this.opening === undefined) {
      const waitMs = this.notBefore - performance.now();
      if (waitMs > this.patienceMs)
        return Promise.reject(
          this.needsLogin ??
            this.failure(
              `could not be started: ${this.problem} Volley will try again in ${spanText(waitMs)}`,
            ),
        );
      this.opening = this.start(waitMs);
    }
    return this.opening;
  }

  /** One call, whatever becomes of it. Fails with what the SDK threw, or with an error of the start. */
  async call(tool: CalledName, input: unknown, following: CallFollowing): Promise<CallToolResult> {
    this.calls++;
    let connection: Connection | undefined;
    try {
      connection = await unlessAborted(this.ready(), following.signal);
      const result = await connection.call(tool, input, following);
      this.failures = 0;
      if (result.isError === true) this.failedCalls++;
      return result;
    } catch (error) {
      this.failedCalls++;
      if (following.signal.aborted) void this.ask();
      // Another call may have found out before: what was started since then is not to blame.
      else if (isLost(error) && this.connection === connection) this.giveUp(error.message);
      throw error;
    }
  }

  /** Gives a server up that does not answer as it should; the next call starts it again. */
  private giveUp(problem: string): void {
    const { connection } = this;
    if (connection === undefined || this.status === 'closed') return;
    this.ended(problem);
    this.leave(connection);
  }

  /** Why the server is not there, for people. */
  get lastProblem(): string | undefined {
    return this.problem;
  }

  health(tools: number): McpServerHealth {
    const { name, settings } = this.parts;
    const retryInMs = Math.max(0, this.notBefore - performance.now());
    const pid = this.connection?.pid;
    return {
      name,
      kind: settings.connection.kind,
      status: this.status === 'failed' && retryInMs > 0 ? 'waiting' : this.status,
      tools,
      ...(pid !== undefined && { pid }),
      restarts: Math.max(0, this.starts - 1),
      calls: this.calls,
      failedCalls: this.failedCalls,
      ...(this.problem !== undefined && this.status !== 'ready' && { problem: this.problem }),
      ...(this.needsLogin !== undefined && { needsLogin: true }),
      ...(this.status === 'failed' && retryInMs > 0 && { retryInMs }),
    };
  }

  /** Nothing of the server is left when it returns. */
  async close(): Promise<void> {
    this.status = 'closed';
    this.closing.abort();
    await this.opening?.catch(() => {});
    if (this.connection !== undefined) this.leave(this.connection);
    this.connection = undefined;
    await Promise.all(this.leaving);
  }

  private async start(waitMs: number): Promise<Connection> {
    const { settings, name } = this.parts;
    const signal = this.closing.signal;
    this.status = 'starting';
    const limit = new AbortController();
    const stop = () => limit.abort(new Error('it was closed'));
    signal.addEventListener('abort', stop);
    const late = () =>
      limit.abort(new Error(`it did not answer within ${spanText(settings.startTimeoutMs)}`));
    let timer: NodeJS.Timeout | undefined;
    try {
      // The pause counts from the failure and is not part of the start.
      if (waitMs > 0) await pause(waitMs, signal);
      timer = setTimeout(late, settings.startTimeoutMs);
      this.starts++;
      const { Connection } = await import('./connection.ts');
      const connection = await Connection.open(this.parts.target(), settings.roots, this, limit.signal);
      if (signal.aborted) {
        await connection.close();
        throw new Error('it was closed');
      }
      this.connection = connection;
      this.status = 'ready';
      this.needsLogin = undefined;
      return connection;
    } catch (error) {
      this.opening = undefined;
      const why = limit.signal.aborted ? limit.signal.reason : error;
      const reason = this.parts.redact(startProblem(why, name, settings));
      const sentence = /[.!?…]$/.test(reason) ? reason : `${reason}.`;
      this.failures++;
      this.failed(sentence, pauseAfter(this.failures, START_PAUSE_MS), 0);
      this.needsLogin = isLoginNeeded(error) ? error : undefined;
      if (this.needsLogin !== undefined) throw this.needsLogin;
      throw this.failure(
        `could not be ${settings.connection.kind === 'stdio' ? 'started' : 'reached'}: ${sentence}`,
        name,
        error,
      );
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  /** @internal */
  async tools(tools: readonly ServerTool[], serverName: string): Promise<void> {
    const isItself = serverName === OWN_NAME || tools.some(({ name }) => name === OWN_TOOL);
    if (!isItself) await this.parts.tools(tools);
    else if (this.connection === undefined) throw new Error(ITSELF);
    else this.giveUp(ITSELF);
  }

  /** @internal */
  ended(lastWords: string): void {
    this.opening = undefined;
    this.connection = undefined;
    const words = this.parts.redact(lastWords);
    // The first start after an end is at once: one that has worked may well work again.
    const pauseMs = pauseAfter(this.failures, END_PAUSE_MS);
    this.failures++;
    this.failed(words === '' ? 'It ended.' : `It ended: ${words}`, pauseMs, MAX_WAIT_MS);
  }

  private failed(problem: string, pauseMs: number, patienceMs: number): void {
    this.problem = problem;
    this.notBefore = performance.now() + pauseMs;
    this.patienceMs = patienceMs;
    if (this.status !== 'closed') this.status = 'failed';
  }

  /** A call was abandoned, perhaps because the server no longer answers. */
  private async ask(): Promise<void> {
    const { connection } = this;
    if (connection === undefined || this.isBeingAsked) return;
    this.isBeingAsked = true;
    const isAlive = await connection.isAlive();
    this.isBeingAsked = false;
    if (!isAlive && this.connection === connection) this.giveUp('it no longer answers');
  }

  private leave(connection: Connection): void {
    const left = connection.close().finally(() => this.leaving.delete(left));
    this.leaving.add(left);
  }

  private failure(problem: string, name = this.parts.name, cause?: unknown): VolleyError {
    const text = problem.endsWith('.') ? problem : `${problem}.`;
    return new VolleyError(
      'MCP_SERVER_FAILED',
      `The MCP server ${name} ${text}`,
      { server: name },
      { cause },
    );
  }
}

function isLost(error: unknown): error is CallFailure {
  return error instanceof CallFailure && error.kind === 'lost';
}

function pauseAfter(failures: number, firstMs: number): number {
  return failures === 0 ? 0 : Math.min(MAX_PAUSE_MS, firstMs * 2 ** (failures - 1));
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

/** Awaits work until the signal is aborted. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Why a server could not be started or reached, for people: where the configuration is to blame, which line of it. */
function startProblem(error: unknown, name: string, { connection }: McpServerSettings): string {
  if (connection.kind === 'http' || !isSpawnFailure(error)) return problemText(error);
  const table = `[mcp.servers.${name}] of volley.toml`;
  const { command, cwd } = connection;
  // The system says the same of a folder that is not there.
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    return `there is no folder ${cwd} to start it in: create it, or correct cwd under ${table}`;
  const shown = JSON.stringify(command);
  if (error.code === 'EACCES')
    return `the program ${shown} cannot be run: make it executable, or correct command under ${table}`;
  return `the program ${shown} was not found: install it, or correct command under ${table}`;
}

function isSpawnFailure(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall?.startsWith('spawn') === true && (code === 'ENOENT' || code === 'EACCES');
}

/** How a server is. `waiting`: it failed, and is not tried again before `retryInMs` are over. */
type McpServerStatus = 'idle' | 'starting' | 'ready' | 'failed' | 'waiting' | 'closed';

/** What is known of a server. */
export interface McpServerHealth {
  readonly name: string;
  readonly kind: 'stdio' | 'http';
  readonly status: McpServerStatus;
  /** How many of its tools can be called. */
  readonly tools: number;
  /** The process of a server on this machine. */
  readonly pid?: number;
  /** How often it was started, or reached, again. */
  readonly restarts: number;
  readonly calls: number;
  /** Calls that failed, whatever the reason. */
  readonly failedCalls: number;
  /** Why it could not be started, or ended. */
  readonly problem?: string;
  /** Whether the user must log in at it first. */
  readonly needsLogin?: true;
  readonly retryInMs?: number;
}
