import { serialize } from 'node:v8';
import { VolleyError } from '../../core/errors.ts';
import { isToolFailure } from '../../engine/tool-failure.ts';
import type { PortableCode } from '../load-code.ts';
import type { RunLimits, RunnerCall, RunnerTask } from '../runner.ts';
import { fromWireError, toWireError, type WireError } from '../wire-error.ts';
import {
  type ChildCall,
  encodeFrame,
  FRAME,
  FrameReader,
  HEADER_BYTES,
  isTooDeep,
  tooDeep,
  tooLarge,
} from './channel.ts';
import {
  breachFailure,
  type ConfinedEnd,
  type ConfinedListener,
  type ConfinedProcess,
} from './confined-process.ts';
import type { OutputStream } from './launcher.ts';
import { asMemoryFailure, failureOf } from './process-failure.ts';

/** A call with resolved limits. */
export type LimitedCall = RunnerCall & {
  readonly limits: RunLimits & { readonly outputBytes: number; readonly resultBytes: number };
};

type Start = (listener: ConfinedListener) => Promise<ConfinedProcess>;
type Answer = { readonly value: unknown } | { readonly error: unknown };

/** How long a stopped tool may take to clean up. */
const ABORT_GRACE_MS = 300;
/** How long a process may take to exit after its result, for its exit handlers. */
const EXIT_GRACE_MS = 1000;
const MAX_PROGRESS_BYTES = 64 * 1024;
/** The most progress frames processed. Our own code sends far fewer; further ones from a tool are ignored. */
const MAX_REPORTS = 1000;
const REPORT_WINDOW_MS = 100;
const MAX_ERROR_BYTES = 1024 * 1024;
const KEPT_STDERR_BYTES = 8 * 1024;

/** One call in one process: sends it, and interprets the answers. */
export class ProcessCall {
  readonly toolName: string;
  readonly code: PortableCode;
  /** Settles with the call, however it ends. */
  readonly settled: Promise<void>;
  private settle!: () => void;
  private readonly message: Buffer;
  private readonly reader: FrameReader;
  private process: ConfinedProcess | undefined;
  private answer: Answer | undefined;
  /** Why it was stopped from here; takes precedence over the process's answer. */
  private stopped: { readonly error: unknown } | undefined;
  private outputBytes = 0;
  private reportWindowEnd = 0;
  private reportsInWindow = 0;
  private stderr: Buffer = Buffer.alloc(0);
  private timer: NodeJS.Timeout | undefined;

  /** Throws if the call cannot be sent; nothing is started then. */
  constructor(
    private readonly call: LimitedCall,
    private readonly task: RunnerTask,
  ) {
    this.toolName = call.toolName;
    this.code = portable(call);
    this.message = encodeFrame(FRAME.call, encodeCall(call, this.code, task));
    this.reader = new FrameReader(
      (kind, body) => this.take(kind, body),
      (kind, bodyBytes) => this.accepts(kind, bodyBytes),
    );
    this.settled = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  /** Settles when nothing of the process remains. */
  async run(start: Start): Promise<unknown> {
    const { signal } = this.task;
    const onAbort = () => this.abort();
    signal.addEventListener('abort', onAbort);
    try {
      const process = await start({
        started: () => this.task.began(),
        data: (stream, chunk) => this.hear(stream, chunk),
      });
      this.process = process;
      process.write(this.message);
      // It was too early for these before.
      if (this.stopped !== undefined) process.kill();
      else if (signal.aborted) this.abort();
      const end = await process.ended;
      if (end.breaches.length > 0) throw breachFailure(`the tool "${this.toolName}"`, end.breaches);
      if (this.stopped !== undefined) throw this.stopped.error;
      if (this.answer === undefined) {
        signal.throwIfAborted();
        throw this.withUsage(end, failureOf(end, this.call, this.stderr.toString()));
      }
      if ('error' in this.answer) throw this.withUsage(end, this.answer.error);
      this.task.measured?.(end.usage);
      return this.answer.value;
    } finally {
      signal.removeEventListener('abort', onAbort);
      clearTimeout(this.timer);
      this.settle();
    }
  }

  /** Reports what it used if it ran out of memory: it needs at least that much. */
  private withUsage({ usage }: ConfinedEnd, error: unknown): unknown {
    if (isToolFailure(error) && error.reason === 'memory') this.task.measured?.(usage);
    return error;
  }

  /** Kills it at once; the call fails with this error. */
  stop(error: unknown): void {
    this.stopped ??= { error };
    this.process?.kill();
  }

  private abort(): void {
    if (this.process === undefined) return;
    this.process.write(encodeFrame(FRAME.abort, JSON.stringify(toWireError(this.task.signal.reason))));
    this.killAfter(ABORT_GRACE_MS);
  }

  private killAfter(graceMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.process?.kill(), graceMs);
  }

  private hear(stream: OutputStream, chunk: Buffer): void {
    if (this.stopped !== undefined) return;
    if (stream === 'channel') {
      if (this.answer === undefined) this.reader.push(chunk);
      return;
    }
    if (stream === 'stderr') this.stderr = tail(this.stderr, chunk);
    this.task.output?.(stream, chunk);
    this.countOutput(chunk.length);
  }

  private countOutput(bytes: number): void {
    const { toolName, limits } = this.call;
    this.outputBytes += bytes;
    if (this.outputBytes <= limits.outputBytes) return;
    this.stop(
      new VolleyError(
        'OUTPUT_LIMIT',
        `The tool "${toolName}" wrote more than its limit of ${limits.outputBytes} bytes to its output and was killed. Write less, or raise \`outputBytes\`.`,
        { toolName, maxBytes: limits.outputBytes },
      ),
    );
  }

  /** Our own code in the process respects all of this, but a tool can also write to the channel. */
  private accepts(kind: number, bodyBytes: number): boolean {
    const { toolName, limits } = this.call;
    if (this.answer !== undefined || this.stopped !== undefined) return false;
    if (kind === FRAME.result && bodyBytes > limits.resultBytes) {
      this.stop(tooLarge(toolName, bodyBytes, limits.resultBytes));
      return false;
    }
    const isKnown =
      kind === FRAME.result ||
      (kind === FRAME.progress && bodyBytes <= MAX_PROGRESS_BYTES) ||
      (kind === FRAME.error && bodyBytes <= MAX_ERROR_BYTES);
    if (!isKnown) this.stopForNonsense();
    return isKnown;
  }

  private stopForNonsense(): void {
    this.stop(new Error(`The process of the tool "${this.toolName}" sent an invalid message.`));
  }

  private take(kind: number, body: Buffer): void {
    if (kind === FRAME.progress) {
      // Including the header: a frame without a body is work too.
      this.countOutput(HEADER_BYTES + body.length);
      if (this.stopped === undefined) this.report(body);
      return;
    }
    try {
      this.answer = this.read(kind, body);
      this.killAfter(EXIT_GRACE_MS);
    } catch (cause) {
      this.stop(
        new Error(`The process of the tool "${this.toolName}" sent a result that is not JSON.`, { cause }),
      );
    }
  }

  private read(kind: number, body: Buffer): Answer {
    if (isTooDeep(body)) return { error: tooDeep(this.toolName) };
    if (kind === FRAME.result) return { value: body.length === 0 ? undefined : JSON.parse(body.toString()) };
    return { error: asMemoryFailure(fromWireError(JSON.parse(body.toString()) as WireError), this.call) };
  }

  private report(body: Buffer): void {
    const now = performance.now();
    if (now >= this.reportWindowEnd) {
      this.reportWindowEnd = now + REPORT_WINDOW_MS;
      this.reportsInWindow = 0;
    }
    if (this.reportsInWindow++ >= MAX_REPORTS) return;
    const progress = readProgress(body);
    if (progress === undefined) this.stopForNonsense();
    else if (progress.share !== null) this.task.report(progress.share, progress.step ?? undefined);
    else if (progress.step !== null) this.task.report(progress.step);
  }
}

/** Undefined if it is not what our own code in the process sends. */
function readProgress(body: Buffer): { share: number | null; step: string | null } | undefined {
  try {
    const [share, step] = JSON.parse(body.toString()) as unknown[];
    const isShare = share === null || (typeof share === 'number' && share >= 0 && share <= 1);
    const isStep = step === null || typeof step === 'string';
    return isShare && isStep ? { share, step } : undefined;
  } catch {
    return undefined;
  }
}

function portable({ code, toolName }: RunnerCall): PortableCode {
  if (code.kind !== 'function') return code;
  throw new VolleyError(
    'INVALID_TOOL',
    `The tool "${toolName}" is a function of this thread and cannot run in a process. Pass its source code or a module.`,
    { toolName },
  );
}

function encodeCall({ toolName, input, limits }: LimitedCall, code: PortableCode, task: RunnerTask): Buffer {
  const { id, attempt } = task;
  const call: ChildCall = { toolName, code, input, id, attempt, resultBytes: limits.resultBytes };
  try {
    return serialize(call);
  } catch (cause) {
    throw new VolleyError(
      'UNSERIALISABLE_INPUT',
      `The input of the tool "${toolName}" cannot be sent to its process: ${cause instanceof Error ? cause.message : String(cause)}. Pass plain data, or run the tool inline.`,
      { toolName },
      { cause },
    );
  }
}

function tail(kept: Buffer, chunk: Buffer): Buffer {
  const all = Buffer.concat([kept, chunk]);
  // A copy, so that a small tail does not keep a large chunk alive.
  return all.length > KEPT_STDERR_BYTES ? Buffer.from(all.subarray(-KEPT_STDERR_BYTES)) : all;
}
