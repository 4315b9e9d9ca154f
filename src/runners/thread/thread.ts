import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { VolleyError } from '../../core/errors.ts';
import { unwritableText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import { scriptEntry } from '../entry.ts';
import type { RunnerCall, RunnerTask } from '../runner.ts';
import { fromWireError, toWireError } from '../wire-error.ts';
import { Claims, SLOTS } from './claims.ts';
import type { KnownTool } from './known-tools.ts';
import {
  type CallMessage,
  type HostMessage,
  LOOK,
  OUTPUT,
  PROGRESS,
  READY,
  type ThreadData,
  type ThreadMessage,
  type ToolMessage,
  VALUE,
} from './protocol.ts';

/** One call from its request until it settles. */
export class ThreadCall {
  /** Neighbors in the queue. */
  before: ThreadCall | undefined = undefined;
  after: ThreadCall | undefined = undefined;
  isQueued = false;
  /** The thread it was sent to, and its slot there. */
  thread: Thread | undefined = undefined;
  slot = -1;
  /** Its expected duration when it was sent. */
  expectedMs = 0;
  /** Why it must stop early, once that is requested. */
  stop: { readonly reason: unknown } | undefined = undefined;
  graceTimer: NodeJS.Timeout | undefined = undefined;
  private hasBegun = false;
  private isSettled = false;

  constructor(
    readonly call: RunnerCall,
    readonly task: RunnerTask,
    readonly tool: KnownTool,
    private readonly onStop: (call: ThreadCall, reason: unknown) => void,
    private readonly onValue: (value: unknown) => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Starts listening for a stop request, which may have come already. */
  watch(): void {
    const { task } = this;
    if (task.onStop !== undefined) task.onStop((reason) => this.stopped(reason));
    else if (task.signal.aborted) this.stopped(task.signal.reason);
    else task.signal.addEventListener('abort', this);
  }

  /** Called by the signal. */
  handleEvent(): void {
    this.stopped(this.task.signal.reason);
  }

  /** It is the next, or the only, call of a free thread. */
  begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.task.began();
  }

  resolve(value: unknown): void {
    this.settled();
    this.onValue(value);
  }

  reject(error: unknown): void {
    this.settled();
    this.onError(error);
  }

  private stopped(reason: unknown): void {
    if (this.isSettled || this.stop !== undefined) return;
    this.stop = { reason };
    this.onStop(this, reason);
  }

  private settled(): void {
    this.isSettled = true;
    if (this.task.onStop === undefined) this.task.signal.removeEventListener('abort', this);
    if (this.graceTimer !== undefined) clearTimeout(this.graceTimer);
  }
}

const NUMBER = 0;
/** Written as their index plus one. */
const CONSTANTS = [undefined, null, false, true] as const;

/**
 * Results in shared memory that need no message: the host reads many at a time, and a thread that dies cannot take them
 * along. A slot belongs to the thread from claim to answer, and then to the host.
 */
export class SimpleAnswers {
  private readonly kinds: Float64Array<SharedArrayBuffer>;
  private readonly numbers: Float64Array<SharedArrayBuffer>;
  private readonly durations: Float64Array<SharedArrayBuffer>;

  constructor(readonly buffer = new SharedArrayBuffer(3 * SLOTS * Float64Array.BYTES_PER_ELEMENT)) {
    const column = (index: number) =>
      new Float64Array(buffer, index * SLOTS * Float64Array.BYTES_PER_ELEMENT, SLOTS);
    this.kinds = column(0);
    this.numbers = column(1);
    this.durations = column(2);
  }

  /** Returns whether the value is simple enough. */
  write(slot: number, value: unknown, durationMs: number): boolean {
    if (typeof value === 'number') {
      this.kinds[slot] = NUMBER;
      this.numbers[slot] = value;
    } else {
      const index = CONSTANTS.indexOf(value as undefined);
      if (index < 0) return false;
      this.kinds[slot] = index + 1;
    }
    this.durations[slot] = durationMs;
    return true;
  }

  value(slot: number): unknown {
    const kind = this.kinds[slot]!;
    return kind === NUMBER ? this.numbers[slot] : CONSTANTS[kind - 1];
  }

  durationMs(slot: number): number {
    return this.durations[slot]!;
  }
}

/** The parts of the runner that a thread uses. */
export interface ThreadOwner {
  /** It is ready, or has answered. */
  hasRoom(thread: Thread): void;
  /** Returns calls it has not begun, in order. */
  gaveBack(calls: readonly ThreadCall[]): void;
  /** The thread is gone. `lost` is the call it had begun, if any. */
  ended(thread: Thread, end: ThreadEnd, lost: ThreadCall | undefined): void;
}

const ENTRY = scriptEntry('./worker', import.meta.url);
/** How long a stopped call may take before its thread is ended. */
const STOP_GRACE_MS = 100;
/** How much work may be sent ahead: enough to hide the latency of a message. */
const AHEAD_MS = 2;
const MAX_IN_FLIGHT = 64;
/** A thread with more work than this is not sent single calls; it gets many at once when it has less. */
const LOW_WATER = MAX_IN_FLIGHT / 2;
const MAX_TOOLS = 500;

/** A worker thread, seen from the host. It runs calls in the order they were sent. */
export class Thread {
  isReady = false;
  isEnding = false;
  /** The calls it was sent and has not answered. Only the first one can have begun. */
  readonly flight: ThreadCall[] = [];
  /** Their expected total duration. */
  private flightMs = 0;
  private readonly claims = new Claims();
  private readonly answers = new SimpleAnswers();
  private readonly freeSlots = Array.from({ length: SLOTS }, (_, index) => SLOTS - 1 - index);
  /** Slots whose calls were taken back; the thread may still see them. */
  private readonly withdrawnSlots: number[] = [];
  private readonly knownTools = new Set<number>();
  private readonly worker: Worker;
  private readonly port: MessagePort;
  private error: { readonly value: unknown } | undefined = undefined;

  constructor(private readonly owner: ThreadOwner) {
    const { port1, port2 } = new MessageChannel();
    const workerData: ThreadData = {
      port: port2,
      claims: this.claims.buffer,
      answers: this.answers.buffer,
    };
    this.worker = new Worker(ENTRY.url, {
      name: 'volley tools',
      workerData,
      transferList: [port2],
      // Nobody reads it: the thread sends its tools' output to stderr.
      stdout: true,
      // If omitted, a thread gets the flags of the process. There are no `resourceLimits`: they only stop slow heap
      // growth, so a tool that needs a memory limit runs in a process.
      ...(ENTRY.execArgv.length > 0 && { execArgv: [...ENTRY.execArgv] }),
    });
    this.port = port1;
    this.port.on('message', (message: ThreadMessage) => this.received(message));
    this.port.on('messageerror', (error) => this.receivedUnreadable(error));
    // The worker itself decides whether the process stays alive.
    this.port.unref();
    this.worker.on('error', (value) => {
      this.error = { value };
    });
    this.worker.on('exit', (exitCode) => this.exited(exitCode));
  }

  get isIdle(): boolean {
    return this.isReady && !this.isEnding && this.flight.length === 0;
  }

  /** Whether it should be sent more now, starting with this call. */
  wants(call: ThreadCall): boolean {
    return this.flight.length <= LOW_WATER && this.canTake(call);
  }

  /** Whether a call may be sent in addition: one that waits, or many if all of them are tiny. */
  canTake({ tool }: ThreadCall): boolean {
    const { length } = this.flight;
    if (!this.isReady || this.isEnding || !this.hasSlot()) return false;
    if (length === 0) return true;
    if (this.flight[0]!.stop !== undefined) return false;
    if (this.knownTools.size >= MAX_TOOLS && !this.knownTools.has(tool.number)) return false;
    return length === 1 || (length < MAX_IN_FLIGHT && this.flightMs + expectedMs(tool) <= AHEAD_MS);
  }

  /** Takes a call that {@link canTake} allows. It is sent with the next {@link send}. */
  take(call: ThreadCall): void {
    call.thread = this;
    call.slot = this.freeSlots.pop()!;
    call.expectedMs = expectedMs(call.tool);
    this.flight.push(call);
    this.flightMs += call.expectedMs;
  }

  /** Sends calls that were taken: the last ones in flight. */
  send(calls: readonly ThreadCall[]): void {
    if (this.flight.length === calls.length) this.worker.ref();
    const forget = this.knownTools.size >= MAX_TOOLS && this.flight.length === calls.length;
    if (forget) this.knownTools.clear();
    const tools: ToolMessage[] = [];
    for (const { tool } of calls) {
      if (this.knownTools.has(tool.number)) continue;
      this.knownTools.add(tool.number);
      tools.push([tool.number, tool.name, tool.code]);
    }
    for (const { slot } of calls) this.claims.offer(slot);
    try {
      this.post({ kind: 'calls', forget, tools, calls: calls.map(messageOf) });
    } catch {
      this.post({ kind: 'calls', forget, tools, calls: [] });
      for (const call of calls) this.sendAlone(call);
    }
    this.flight[0]?.begin();
  }

  /** Takes back a call that has not begun. */
  withdraw(call: ThreadCall): boolean {
    if (!this.claims.withdraw(call.slot)) return false;
    this.withdrawnSlots.push(call.slot);
    this.remove(call);
    return true;
  }

  /** Takes back up to this many calls that have not begun, last ones first. */
  withdrawLast(count: number): ThreadCall[] {
    const calls: ThreadCall[] = [];
    while (calls.length < count && this.flight.length > 1) {
      const last = this.flight.at(-1)!;
      if (!this.withdraw(last)) break;
      calls.unshift(last);
    }
    return calls;
  }

  /** Stops the function of a call that has begun, and ends the thread if it does not stop. */
  stop(call: ThreadCall, reason: unknown): void {
    this.post({ kind: 'abort', slot: call.slot, reason: toWireError(reason) });
    call.graceTimer = setTimeout(() => this.giveUp(call), STOP_GRACE_MS);
  }

  async end(): Promise<void> {
    this.isEnding = true;
    await this.worker.terminate();
  }

  /**
   * Takes everything else back first. If that fails for a call, it has begun, so the given call is over and its answer
   * is on the way: then the thread lives on. If it succeeds, nothing new can begin, and only that call ends.
   */
  private giveUp(call: ThreadCall): void {
    this.collect();
    if (call.thread === undefined) return;
    const others = this.flight.filter((other) => other !== call);
    const taken = others.filter((other) => this.withdraw(other));
    if (taken.length === others.length) void this.end();
    this.owner.gaveBack(taken);
  }

  private received(message: ThreadMessage): void {
    // Answers in shared memory precede any message about the first remaining call.
    this.collect();
    switch (message[0]) {
      case READY:
        this.isReady = true;
        if (this.flight.length === 0) this.worker.unref();
        break;
      case LOOK:
        break;
      default: {
        const call = this.flight[0];
        // Only the first one can be meant. But the thread runs tool code, which could get hold of the port.
        if (call === undefined || call.slot !== message[1]) return;
        if (message[0] === PROGRESS) {
          reportTo(call, message[2], message[3]);
          return;
        }
        if (message[0] === OUTPUT) {
          const [, , stream, text] = message;
          if (stream === 'log') call.task.log?.(text);
          else call.task.output?.(stream, text);
          return;
        }
        this.release(call);
        call.tool.took(message[2]);
        if (message[0] === VALUE) call.resolve(message[3]);
        else call.reject(fromWireError(message[3]));
        // Later ones may have been answered while this one was still first.
        this.collect();
      }
    }
    this.owner.hasRoom(this);
  }

  /** Reads the answers in shared memory. */
  private collect(): void {
    this.claims.look();
    for (let call = this.flight[0]; call !== undefined; call = this.flight[0]) {
      const { slot } = call;
      if (!this.claims.isAnswered(slot)) return;
      const value = this.answers.value(slot);
      call.tool.took(this.answers.durationMs(slot));
      this.release(call);
      call.resolve(value);
    }
  }

  /** Only a result can be unreadable, and only the first call can have one. */
  private receivedUnreadable(error: unknown): void {
    const call = this.flight[0];
    if (call === undefined) return;
    this.release(call);
    call.reject(unreadableResult(call, error));
    this.collect();
    this.owner.hasRoom(this);
  }

  /** Removes a finished call and frees its slot. */
  private release(call: ThreadCall): void {
    this.claims.release(call.slot);
    this.freeSlots.push(call.slot);
    this.remove(call);
  }

  private remove(call: ThreadCall): void {
    if (this.flight[0] === call) this.flight.shift();
    else this.flight.splice(this.flight.indexOf(call), 1);
    call.thread = undefined;
    this.flightMs -= call.expectedMs;
    if (this.flight.length > 0) {
      this.flight[0]!.begin();
      return;
    }
    this.flightMs = 0;
    this.worker.unref();
  }

  private sendAlone(call: ThreadCall): void {
    try {
      this.post({ kind: 'calls', forget: false, tools: [], calls: [messageOf(call)] });
    } catch (error) {
      this.release(call);
      call.reject(undeliverableInput(call, error));
    }
  }

  private post(message: HostMessage): void {
    this.port.postMessage(message);
  }

  private hasSlot(): boolean {
    if (this.freeSlots.length > 0) return true;
    for (let index = this.withdrawnSlots.length - 1; index >= 0; index--) {
      const slot = this.withdrawnSlots[index]!;
      if (this.claims.isFree(slot)) this.freeSlots.push(...this.withdrawnSlots.splice(index, 1));
    }
    return this.freeSlots.length > 0;
  }

  private exited(exitCode: number): void {
    // Messages sent before it ended still count.
    for (let next = receiveMessageOnPort(this.port); next; next = receiveMessageOnPort(this.port))
      this.received(next.message as ThreadMessage);
    this.collect();
    this.port.close();
    const hadBegun = this.flight.length > 0 && this.claims.isClaimed(this.flight[0]!.slot);
    const lost = hadBegun ? this.flight.shift() : undefined;
    const end = { exitCode, error: this.error, wasReady: this.isReady };
    this.isEnding = true;
    this.owner.gaveBack(this.flight.splice(0));
    this.owner.ended(this, end, lost);
  }
}

function expectedMs({ typicalMs }: KnownTool): number {
  return typicalMs ?? AHEAD_MS;
}

function messageOf({ slot, tool, task, call }: ThreadCall): CallMessage {
  return [slot, tool.number, task.id, task.attempt, call.limits.resultBytes ?? -1, call.input];
}

function reportTo({ task }: ThreadCall, share: number | undefined, step: string | undefined): void {
  if (share !== undefined) task.report(share, step);
  else if (step !== undefined) task.report(step);
}

/** How a thread ended. */
export interface ThreadEnd {
  readonly exitCode: number;
  /** The uncaught error that ended it, if any. */
  readonly error: { readonly value: unknown } | undefined;
  /** Whether it was ever able to run calls. */
  readonly wasReady: boolean;
}

/** Why a call failed that ran when its thread ended. */
export function crashOf({ tool }: ThreadCall, { exitCode, error }: ThreadEnd): ToolFailure {
  const who = `The thread of the tool "${tool.name}"`;
  if (error === undefined) {
    return new ToolFailure(`${who} was ended by process.exit(${exitCode}).`, { reason: 'crashed' });
  }
  const cause = error.value;
  if ((cause as { code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new ToolFailure(`${who} ran out of memory.`, { reason: 'memory', retryable: false, cause });
  }
  return new ToolFailure(
    `${who} was ended by an uncaught error, in a callback or a promise that the tool did not await: ${textOf(cause)}`,
    { reason: 'crashed', cause },
  );
}

export function startFailure({ exitCode, error }: ThreadEnd): ToolFailure {
  const why = error === undefined ? `it ended with exit code ${exitCode}` : textOf(error.value);
  return new ToolFailure(`A worker thread could not be started: ${why}`, {
    reason: 'crashed',
    cause: error?.value,
  });
}

function undeliverableInput({ tool }: ThreadCall, cause: unknown): VolleyError {
  return new VolleyError(
    'UNSERIALISABLE_INPUT',
    `The input of the tool "${tool.name}" cannot be sent to a thread: ${unwritableText(cause)}. Pass plain data, or run the tool inline.`,
    { toolName: tool.name },
    { cause },
  );
}

function unreadableResult({ tool }: ThreadCall, cause: unknown): VolleyError {
  return new VolleyError(
    'UNSERIALISABLE_RESULT',
    `The result of the tool "${tool.name}" cannot be read in this thread: ${unwritableText(cause)}. Return plain data.`,
    { toolName: tool.name },
    { cause },
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
}
