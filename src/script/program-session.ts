import type { Worker } from 'node:worker_threads';
import { type ErrorCode, VolleyError } from '../core/errors.ts';
import type { FailureReason } from '../core/failure.ts';
import { scriptEntry } from '../runners/entry.ts';
import { endScriptThread, startScriptThread } from './script-thread.ts';

const ENTRY = scriptEntry('./program-worker', import.meta.url);
/** How much later a thread is ended that does not notice its time limit, because it is in a native function. */
const GRACE_MS = 500;
/** How many threads without a program are kept, and how long. */
const MAX_IDLE = 2;
const IDLE_MS = 5000;

/** The version of the language. A program that was started with another one may not do the same again. */
export const VM_VERSION = 'quickjs-ng 0.32.0';

export interface ProgramLimits {
  /** How long it may compute, not counting the time in which it waits for calls. */
  readonly cpuMs: number;
  readonly memoryMb: number;
  readonly calls: number;
  readonly callsInFlight: number;
  /** The length of its value as JSON. */
  readonly valueChars: number;
  /** How long it may take in all, from the start of this session. */
  readonly wallMs: number;
}

export const DEFAULT_LIMITS: ProgramLimits = {
  cpuMs: 30_000,
  memoryMb: 256,
  calls: 100_000,
  callsInFlight: 10_000,
  valueChars: 16 << 20,
  wallMs: 3_600_000,
};

/** Everything that decides what a program does, together with the deliveries. */
export interface ProgramInput {
  /** The body of an async function. */
  readonly source: string;
  /** The value of `args` as JSON text. */
  readonly args?: string | undefined;
  /** Of `Math.random`, a 32-bit integer. */
  readonly seed: number;
  /** The program's clock until the first delivery, in ms since 1970. */
  readonly startedAt: number;
  readonly limits: ProgramLimits;
}

/** A call that a program has made. */
export interface ProgramCall {
  /** From 0, in the order in which the program made them. */
  readonly index: number;
  readonly function: string;
  /** JSON text. */
  readonly params: string;
  /** JSON text of an object with `priority`, `timeout`, `max_retries` and `resources`, if any were given. */
  readonly options: string | undefined;
  /** Of params and options. */
  readonly hash: string;
  /** How many deliveries came before it. */
  readonly after: number;
}

/** The end of a call, as the program sees it. */
export interface ProgramDelivery {
  readonly index: number;
  /** The program's clock from now on, in ms since 1970. */
  readonly at: number;
  /** The result as JSON text; `undefined` is the value undefined. */
  readonly value?: string | undefined;
  /** What the program can catch. */
  readonly error?:
    | { readonly message: string; readonly code?: string; readonly reason?: string; readonly callId?: string }
    | undefined;
}

/** What a program did after one or more deliveries. */
export interface ProgramStep {
  /** How many deliveries it has had. */
  readonly delivered: number;
  /** New calls. */
  readonly calls: readonly ProgramCall[];
  readonly log: readonly string[];
  readonly progress: { readonly share: number; readonly step: string } | undefined;
  /** How it ended, if it has. No step comes after that. */
  readonly outcome: ProgramOutcome | undefined;
}

/** The calls in flight have lost their reader. */
export type ProgramOutcome = { readonly inFlight: readonly number[] } & (
  | { readonly value: string | undefined; readonly error?: undefined }
  | { readonly error: VolleyError; readonly reason: FailureReason }
);

/** Why a program has no value. */
export interface ProgramFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export type ProgramMessage =
  | { readonly type: 'start'; readonly program: ProgramInput }
  | { readonly type: 'deliver'; readonly deliveries: readonly ProgramDelivery[] }
  | { readonly type: 'stop' };

/** A thread's answer to a start or to deliveries. A spent thread is not used again. */
export interface ProgramReport extends Omit<ProgramStep, 'outcome'> {
  readonly outcome: { readonly value: string | undefined } | { readonly failure: ProgramFailure } | undefined;
  /** How long it has computed in all. */
  readonly usedMs: number;
  readonly isSpent: boolean;
}

const REASONS: Partial<Record<ErrorCode, FailureReason>> = {
  PROGRAM_CPU_TIME: 'cpu',
  PROGRAM_MEMORY: 'memory',
  PROGRAM_TIMEOUT: 'timeout',
  PROGRAM_CALLS: 'budget',
  PROGRAM_CALLS_IN_FLIGHT: 'budget',
};

/**
 * A program in a thread of its own. It knows nothing of journals and tools: it reports the calls that the program makes,
 * and receives how they ended. After each delivery, the program runs until it can only wait. The same input and the same
 * deliveries in the same order give the same steps.
 */
export class ProgramSession {
  private readonly thread = takeThread();
  private readonly wallTimer: NodeJS.Timeout;
  /** Ends a thread that computes too long. */
  private watchdog: NodeJS.Timeout | undefined;
  private made = 0;
  /** The calls that have ended. In a replay they may not have been reported yet. */
  private readonly ended = new Set<number>();
  /** Messages that the thread has not answered. */
  private unanswered = 0;
  private delivered = 0;
  private usedMs = 0;
  private hasStarted = false;
  /** Deliveries that came before the thread was ready. */
  private early: ProgramDelivery[] = [];
  private isEnded = false;

  constructor(
    private readonly program: ProgramInput,
    private readonly onStep: (step: ProgramStep) => void,
  ) {
    const { wallMs } = program.limits;
    const late = () => this.fail({ code: 'PROGRAM_TIMEOUT', message: `takes longer than ${wallMs} ms` });
    this.wallTimer = setTimeout(late, wallMs);
    this.thread.own({
      ready: () => {
        this.hasStarted = true;
        this.send({ type: 'start', program });
        if (this.early.length > 0) this.send({ type: 'deliver', deliveries: this.early });
        this.early = [];
      },
      reported: (report) => this.reported(report),
      failed: (message) => this.fail({ code: 'PROGRAM_MEMORY', message: `lost its thread: ${message}` }),
    });
  }

  /** Delivers to the program how calls ended, one after the other. */
  deliver(deliveries: readonly ProgramDelivery[]): void {
    if (this.isEnded) return;
    for (const { index } of deliveries) this.ended.add(index);
    if (this.hasStarted) this.send({ type: 'deliver', deliveries });
    else this.early.push(...deliveries);
  }

  /** Ends it without an outcome. */
  stop(): void {
    if (this.isEnded) return;
    const isWaiting = this.unanswered === 0;
    if (isWaiting) this.thread.send({ type: 'stop' });
    this.end(isWaiting);
  }

  private send(message: ProgramMessage): void {
    this.thread.send(message);
    this.unanswered++;
    if (this.watchdog === undefined) this.watch();
  }

  private watch(): void {
    const { cpuMs } = this.program.limits;
    const late = () => this.fail({ code: 'PROGRAM_CPU_TIME', message: `computes for more than ${cpuMs} ms` });
    this.watchdog = setTimeout(late, cpuMs - this.usedMs + GRACE_MS);
  }

  private reported({ outcome, usedMs, isSpent, ...step }: ProgramReport): void {
    this.usedMs = usedMs;
    this.delivered = step.delivered;
    this.unanswered--;
    clearTimeout(this.watchdog);
    this.watchdog = undefined;
    this.made += step.calls.length;
    if (outcome === undefined) {
      if (this.unanswered > 0) this.watch();
      this.onStep({ ...step, outcome });
      return;
    }
    this.end(!isSpent);
    this.onStep({ ...step, outcome: this.toOutcome(outcome) });
  }

  /** Ends a program that does not end by itself. */
  private fail(failure: ProgramFailure): void {
    this.end(false);
    const outcome = this.toOutcome({ failure });
    this.onStep({ delivered: this.delivered, calls: [], log: [], progress: undefined, outcome });
  }

  private end(isThreadUsable: boolean): void {
    this.isEnded = true;
    clearTimeout(this.watchdog);
    clearTimeout(this.wallTimer);
    if (isThreadUsable) this.thread.release();
    else this.thread.end();
  }

  private toOutcome(outcome: NonNullable<ProgramReport['outcome']>): ProgramOutcome {
    const all = Array.from({ length: this.made }, (_, index) => index);
    const inFlight = all.filter((index) => !this.ended.has(index));
    if ('value' in outcome) return { value: outcome.value, inFlight };
    const { code, message, details } = outcome.failure;
    const error = new VolleyError(code, `The program ${message}.`, details);
    return { error: Object.assign(error, { retryable: false }), reason: REASONS[code] ?? 'error', inFlight };
  }
}

/** The session that a thread works for. */
interface ThreadOwner {
  ready(): void;
  reported(report: ProgramReport): void;
  failed(message: string): void;
}

/** Threads without a program. Starting one takes longer than most programs. */
const idleThreads: ProgramThread[] = [];

function takeThread(): ProgramThread {
  return idleThreads.pop() ?? new ProgramThread();
}

class ProgramThread {
  private readonly worker: Worker;
  private isReady = false;
  private owner: ThreadOwner | undefined;
  private idleTimer: NodeJS.Timeout | undefined;

  constructor() {
    this.worker = startScriptThread(ENTRY, 'volley program');
    this.worker.on('message', (message: 'ready' | ProgramReport) => {
      if (message !== 'ready') {
        this.owner?.reported(message);
        return;
      }
      this.isReady = true;
      this.owner?.ready();
    });
    this.worker.on('error', ({ message }) => {
      const { owner } = this;
      this.end();
      owner?.failed(message);
    });
  }

  own(owner: ThreadOwner): void {
    clearTimeout(this.idleTimer);
    this.worker.ref();
    this.owner = owner;
    if (this.isReady) owner.ready();
  }

  send(message: ProgramMessage): void {
    this.worker.postMessage(message);
  }

  /** Keeps it for another program. */
  release(): void {
    this.owner = undefined;
    if (idleThreads.length >= MAX_IDLE) {
      this.end();
      return;
    }
    idleThreads.push(this);
    this.worker.unref();
    this.idleTimer = setTimeout(() => this.end(), IDLE_MS);
    this.idleTimer.unref();
  }

  end(): void {
    clearTimeout(this.idleTimer);
    this.owner = undefined;
    const index = idleThreads.indexOf(this);
    if (index >= 0) idleThreads.splice(index, 1);
    endScriptThread(this.worker);
  }
}
