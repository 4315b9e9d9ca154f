import { serialize } from 'node:v8';
import { workerData } from 'node:worker_threads';
import { VolleyError } from '../../core/errors.ts';
import { unwritableText } from '../../core/words.ts';
import { checkReport } from '../../engine/check-report.ts';
import { loadCode, type PortableCode } from '../load-code.ts';
import type { ToolContext, ToolRun } from '../runner.ts';
import { fromWireError, toWireError, type WireError } from '../wire-error.ts';
import { Claims } from './claims.ts';
import {
  type CallMessage,
  ERROR,
  type HostMessage,
  LOOK,
  OUTPUT,
  PROGRESS,
  READY,
  type ThreadData,
  type ThreadMessage,
  VALUE,
} from './protocol.ts';
import { SimpleAnswers } from './thread.ts';

/** How much of what a call prints goes to stderr. */
const MAX_BYTES = 65_536;
/** How much of it goes into its log, where there is one. All of it is buffered, so it is less than a process may print. */
const MAX_LOGGED = 2 ** 20;

interface OutputLimit {
  /** Resets the limit for a new call. */
  begin(toolName: string): void;
}

type Write = typeof process.stderr.write;

/**
 * Redirects the output of tools to stderr, since stdout may carry a protocol, and limits it per call, since it is
 * buffered. The call that runs has it in its log, too. Direct writes to a descriptor cannot be intercepted in a thread,
 * and output in flight when the process ends is lost.
 */
function limitOutput(): OutputLimit {
  const writeThrough = process.stderr.write.bind(process.stderr);
  let left = MAX_BYTES;
  let tool = '';
  const writeTo = (stream: 'stdout' | 'stderr') =>
    ((chunk: string | Uint8Array, encoding?: unknown, callback?: unknown) => {
      const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
      current?.printed(stream, typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
      if (bytes <= left) {
        left -= bytes;
        return (writeThrough as (...args: unknown[]) => boolean)(chunk, encoding, callback);
      }
      if (left >= 0)
        writeThrough(
          `volley: the tool "${tool}" printed more than ${MAX_BYTES} bytes; the rest is dropped\n`,
        );
      left = -1;
      const done = typeof encoding === 'function' ? encoding : callback;
      if (typeof done === 'function') process.nextTick(done as () => void);
      return true;
    }) as Write;
  process.stdout.write = writeTo('stdout');
  process.stderr.write = writeTo('stderr');
  return {
    begin(toolName) {
      left = MAX_BYTES;
      tool = toolName;
    },
  };
}

/** A report that follows sooner than this waits, and the next one replaces it. */
const REPORT_EVERY_MS = 20;

/** The context of a function in a thread. Its parts are created on demand. */
class WorkerContext implements ToolContext {
  private controller: AbortController | undefined = undefined;
  private aborted: { readonly reason: unknown } | undefined = undefined;
  /** Then its answer is a message too, which follows the last report. */
  hasReported = false;
  private hasEnded = false;
  private share: number | undefined = undefined;
  private step: string | undefined = undefined;
  private reportedAt = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined = undefined;
  private logRoom = MAX_LOGGED;

  constructor(
    readonly slot: number,
    readonly id: string,
    readonly attempt: number,
    private readonly post: (message: ThreadMessage) => void,
  ) {}

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.aborted !== undefined) this.controller.abort(this.aborted.reason);
    }
    return this.controller.signal;
  }

  get report(): ToolContext['report'] {
    return (first: number | string, second?: string) => {
      const { share, step } = checkReport(first, second);
      if (this.hasEnded) return;
      this.hasReported = true;
      this.share = share ?? this.share;
      this.step = step ?? this.step;
      const now = performance.now();
      if (now - this.reportedAt >= REPORT_EVERY_MS) this.flush(now);
      else this.timer ??= setTimeout(() => this.flush(performance.now()), REPORT_EVERY_MS);
    };
  }

  get log(): ToolContext['log'] {
    return (text) => this.printed('log', text);
  }

  /** Sends what the call printed or logged, up to a limit. */
  printed(stream: 'stdout' | 'stderr' | 'log', text: string): void {
    if (this.hasEnded || this.logRoom < 0) return;
    this.hasReported = true;
    this.logRoom -= text.length;
    const isTooMuch = this.logRoom < 0;
    const shown = isTooMuch
      ? `… (the rest is left out: a tool in a thread may print ${MAX_LOGGED} characters)`
      : text;
    this.post([OUTPUT, this.slot, stream, shown]);
  }

  abort(reason: unknown): void {
    this.aborted = { reason };
    this.controller?.abort(reason);
  }

  throwIfAborted(): void {
    if (this.aborted !== undefined) throw this.aborted.reason;
  }

  /** Ends the call: the last report is still sent. */
  end(): void {
    if (this.timer !== undefined) this.flush(0);
    this.hasEnded = true;
  }

  private flush(now: number): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.reportedAt = now;
    this.post([PROGRESS, this.slot, this.share, this.step]);
    this.share = undefined;
    this.step = undefined;
  }
}

// The entry script of a worker thread.

type Answer = Extract<ThreadMessage, readonly [typeof VALUE | typeof ERROR, ...unknown[]]>;

interface LoadedTool {
  readonly name: string;
  readonly code: PortableCode;
  run: ToolRun | undefined;
}

const { port, ...shared } = workerData as ThreadData;
const claims = new Claims(shared.claims);
const answers = new SimpleAnswers(shared.answers);
const tools = new Map<number, LoadedTool>();
const waiting: CallMessage[] = [];
const output = limitOutput();
let current: WorkerContext | undefined;
let isBusy = false;

const post = (message: ThreadMessage) => port.postMessage(message);

port.on('message', (message: HostMessage) => {
  if (message.kind === 'abort') {
    if (current?.slot === message.slot) current.abort(fromWireError(message.reason));
    return;
  }
  if (message.forget) tools.clear();
  for (const [tool, name, code] of message.tools) tools.set(tool, { name, code, run: undefined });
  for (const call of message.calls) waiting.push(call);
  if (!isBusy) void workOff();
});
post([READY]);

/** Runs one call after the other. Never rejects. */
async function workOff(): Promise<void> {
  isBusy = true;
  for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
    if (claims.claim(call[0])) await perform(call);
  }
  isBusy = false;
}

async function perform([slot, toolNumber, id, attempt, resultBytes, input]: CallMessage): Promise<void> {
  const tool = tools.get(toolNumber)!;
  const context = new WorkerContext(slot, id, attempt, post);
  current = context;
  output.begin(tool.name);
  let startedAt = performance.now();
  let answer: Answer;
  try {
    if (tool.run === undefined) {
      tool.run = await loadCode(tool.code, tool.name);
      context.throwIfAborted();
      startedAt = performance.now();
    }
    const value = await tool.run(input, context);
    if (resultBytes >= 0) checkResultSize(value, resultBytes, tool.name);
    answer = [VALUE, slot, performance.now() - startedAt, value];
  } catch (error) {
    answer = [ERROR, slot, performance.now() - startedAt, toWireError(error)];
  }
  current = undefined;
  context.end();
  if (answer[0] === VALUE && !context.hasReported && answers.write(slot, answer[3], answer[2])) {
    if (claims.answer(slot)) post([LOOK]);
    return;
  }
  try {
    post(answer);
  } catch (error) {
    const failure: WireError = toWireError(unsendableResult(tool.name, error));
    post([ERROR, slot, answer[2], failure]);
  }
}

/** Throws if a result exceeds its limit. */
function checkResultSize(value: unknown, limitBytes: number, toolName: string): void {
  const bytes = sizeOf(value, toolName);
  if (bytes <= limitBytes) return;
  throw new VolleyError(
    'RESULT_TOO_LARGE',
    `The result of the tool "${toolName}" has ${bytes} bytes, but its limit is ${limitBytes}. Return less, or raise \`resultBytes\`.`,
    { toolName, bytes, limitBytes },
  );
}

function unsendableResult(toolName: string, cause: unknown): VolleyError {
  return new VolleyError(
    'UNSERIALISABLE_RESULT',
    `The result of the tool "${toolName}" cannot be sent out of its thread: ${unwritableText(cause)}. Return plain data.`,
    { toolName },
    { cause },
  );
}

/** The serialized size. Simple values are not serialized just to be measured. */
function sizeOf(value: unknown, toolName: string): number {
  switch (typeof value) {
    case 'undefined':
    case 'boolean':
    case 'number':
      return 8;
    case 'string':
      return Buffer.byteLength(value);
    default:
      if (value === null) return 8;
      try {
        return serialize(value).byteLength;
      } catch (error) {
        throw unsendableResult(toolName, error);
      }
  }
}
