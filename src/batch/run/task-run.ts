import type { AttemptObserver } from '../../coordinator/call-runner.ts';
import type { AttemptWork } from '../../coordinator/plan.ts';
import { CachedResult } from '../../coordinator/result-cache.ts';
import { VolleyError } from '../../core/errors.ts';
import type { FailureReason } from '../../core/failure.ts';
import { DELEGATE_TOOL } from '../../core/script-tools.ts';
import { unwritableText } from '../../core/words.ts';
import type { ExecutionHandle } from '../../engine/handle.ts';
import type { TaskContext } from '../../engine/task.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ProcessUsage, Spending } from '../../runners/runner.ts';
import { takeBlobs } from '../../store/blobs.ts';
import type { OutputStreamName, StoredBlob, TaskEnd, TaskRecord } from '../../store/records.ts';
import type { Unsuccessful } from '../../store/store.ts';
import type { GroupRun } from './group-run.ts';
import type { RunJournal } from './journal.ts';
import type { RunMonitor, RunningTask } from './monitor.ts';
import type { AttemptOutput, RunOutput } from './task-output.ts';

/** Storing a result copies it in memory several times, so larger ones are rejected. */
export const MAX_RESULT_CHARACTERS = 64 * 2 ** 20;

/** A result that is JSON already. Undefined if it is too large to be stored. */
export class JsonResult {
  constructor(readonly text: string | undefined) {}
}

/** The stored end of a task; undefined if nothing was stored. */
export type WrittenEnd = TaskEnd | 'completed' | 'opened' | undefined;

/** What the tasks of a run share. */
export interface TaskRunParts {
  readonly journal: RunJournal;
  readonly monitor: RunMonitor;
  readonly output: RunOutput;
  /** Called when an attempt has ended or was asked to stop. */
  attemptOver(): void;
  /** Called with what a call of a model or an agent cost. */
  spent(task: TaskRun, spending: Spending): void;
  /** Returns what a failed attempt throws to the engine. */
  examined(task: TaskRun, error: unknown): unknown;
}

/** What only some tasks have. */
export interface TaskRunRoles {
  /** If it is a group. */
  readonly group?: GroupRun;
  /** If it is an item: its group. */
  readonly owner?: GroupRun;
  /** Decides before the first attempt whether it runs. Returns its end if it does not. */
  readonly verdict?: () => Promise<Unsuccessful | undefined>;
}

const NO_ROLES: TaskRunRoles = {};
/** Tools whose steps repeat what they print. */
const PRINTING: ReadonlySet<string> = new Set(['shell', DELEGATE_TOOL]);

/** One task of a running batch. Its result goes to the store and is not kept in memory. */
export class TaskRun {
  readonly seq: number;
  readonly id: string;
  readonly name: string;
  readonly function: string;
  handle!: ExecutionHandle;
  /** Attempts in earlier runs. */
  readonly attemptsBefore: number;
  /** Attempts in this run, and the wall-clock start of the last one. */
  attempts = 0;
  attemptStartedAt = 0;
  /** The same moment in monotonic time. */
  private attemptBeganAt = 0;
  private attemptEndedAt: number | undefined = undefined;
  /** What the last attempt used in processes. */
  private usage: ProcessUsage | undefined = undefined;
  /** What the last attempt prints, if it prints anything. */
  private output: AttemptOutput | undefined = undefined;
  /** Why the last attempt failed, and the wall-clock time of the next one; undefined if no retry is pending. */
  pause: { readonly reason: FailureReason; readonly until: number } | undefined = undefined;
  /** Whether it was put back because a quota is used up, so that it is open in the store. */
  isPutBack = false;
  /** How often it was put back because of an outage. */
  outages = 0;
  /** Whether it is left to a later run. */
  isLeft = false;
  private isDecided = false;
  private waiting: ((end: WrittenEnd) => void)[] | undefined = undefined;

  constructor(
    record: TaskRecord,
    /** Whether running it twice is safe. */
    readonly isIdempotent: boolean,
    /** Its end, if earlier runs have decided it without running the task. */
    public knownEnd: Unsuccessful | undefined,
    private readonly parts: TaskRunParts,
    private readonly roles: TaskRunRoles = NO_ROLES,
  ) {
    this.seq = record.seq;
    this.id = record.id;
    this.name = record.name;
    this.function = record.function;
    this.attemptsBefore = record.attempts;
  }

  get group(): GroupRun | undefined {
    return this.roles.group;
  }

  get owner(): GroupRun | undefined {
    return this.roles.owner;
  }

  /** Whether the engine has decided how it ended, which may not be stored yet. */
  get isSettled(): boolean {
    return !this.isWaiting && this.handle.status !== 'running';
  }

  get isWaiting(): boolean {
    const { status } = this.handle;
    return status === 'pending' || status === 'queued' || status === 'retrying';
  }

  /** Whether this run has started an attempt of it. */
  get hasStarted(): boolean {
    return this.attempts > 0;
  }

  /** Resolves when its end is stored. Must be called before that. */
  whenOver(): Promise<WrittenEnd> {
    return new Promise((resolve) => {
      this.waiting ??= [];
      this.waiting.push(resolve);
    });
  }

  resolveOver(end: WrittenEnd): void {
    for (const resolve of this.waiting ?? []) resolve(end);
  }

  /** Runs an attempt and stores its start and its result. */
  async attempt(task: TaskContext, work: AttemptWork): Promise<void> {
    const { journal, monitor } = this.parts;
    const stops: unknown[] = [];
    task.onStop((reason) => {
      stops.push(reason);
      this.parts.attemptOver();
    });
    // The failure of the previous attempt is reported in a microtask. This attempt must not overtake it.
    if (task.attempt > 1) await undefined;
    if (this.roles.verdict !== undefined && !this.isDecided) await this.decide(this.roles.verdict, stops);
    this.attempts = task.attempt;
    this.pause = undefined;
    this.isPutBack = false;
    const shown = monitor.began(this, this.attemptsBefore + task.attempt);
    this.attemptStartedAt = shown.startedAt;
    this.attemptBeganAt = performance.now();
    this.attemptEndedAt = undefined;
    this.usage = undefined;
    this.output = undefined;
    try {
      // Whether a group runs decides whether its items can be reopened, so that must be stored.
      if (this.isIdempotent && this.group === undefined) this.noteStart(task, shown);
      else await this.startWritten(task);
      if (stops.length > 0) throw stops[0];
      const { text, blobs, isCached } = toStored(await work(task, this.observer(shown)), this);
      if (stops.length > 0) throw stops[0];
      // From here on the result counts, also for dependents. Nothing cancels it while it is being stored.
      task.keeping();
      // Before its end, so that a reader who sees the end sees all of the output.
      this.closeOutput(task);
      const stored = journal.completed(this.seq, text, this.attemptMs(), blobs, isCached, this.usage);
      // After a crash this one runs again, so it must be safe to.
      if (this.isIdempotent)
        journal.whenOthersMayStart(this.seq, () => {
          task.keeping({ releases: true });
          monitor.attemptOver(this, shown);
        });
      this.owner?.onResult?.(this.id, text, stored);
      await stored;
      // Published before any dependent starts.
      monitor.completed(this, this.attemptMs(), isCached);
    } catch (error) {
      if (!journal.isClosed) throw this.parts.examined(this, error);
      // The run has ended and must not wait for a retry.
      throw new ToolFailure('The store can no longer be written.', { retryable: false, cause: error });
    } finally {
      // Another attempt may have started if this one ignored its stop signal.
      if (this.attempts === task.attempt) this.attemptEndedAt = performance.now();
      this.closeOutput(task);
      monitor.attemptOver(this, shown);
      this.parts.attemptOver();
    }
  }

  /** Ends the task if it must not run. */
  private async decide(
    verdict: NonNullable<TaskRunRoles['verdict']>,
    stops: readonly unknown[],
  ): Promise<void> {
    const end = await verdict();
    if (stops.length > 0) throw stops[0];
    this.isDecided = true;
    if (end === undefined) return;
    this.knownEnd = end;
    this.handle.cancel('it is skipped');
    throw new ToolFailure('It is skipped.', { retryable: false });
  }

  /** The duration of the last attempt so far; 0 while waiting for a retry. */
  attemptMs(): number {
    if (!this.hasStarted || this.pause !== undefined) return 0;
    return (this.attemptEndedAt ?? performance.now()) - this.attemptBeganAt;
  }

  private closeOutput({ attempt }: TaskContext): void {
    if (this.attempts === attempt) this.output?.close();
  }

  private observer(shown: RunningTask): AttemptObserver {
    const { attempt } = shown;
    const print = (stream: OutputStreamName, chunk: Uint8Array | string) => {
      // An attempt that ignores its signal may print after its end.
      if (this.parts.monitor.attemptOf(this.seq) !== shown) return;
      this.output ??= this.parts.output.open(this.seq, attempt);
      this.output.write(stream, chunk);
    };
    return {
      attempt,
      reported: (progress, step) => {
        if (progress !== undefined) shown.progress = progress;
        if (step !== undefined && step !== shown.step) {
          shown.step = step;
          // The steps of a group count its items.
          if (this.group === undefined && !PRINTING.has(this.function)) print('step', `${step}\n`);
        }
        this.parts.monitor.reported(this, shown);
      },
      printed: print,
      placed: (worker) => {
        if (this.parts.monitor.attemptOf(this.seq) !== shown) return;
        this.parts.monitor.placed(this, shown, worker);
        this.parts.journal.placed(this.seq, worker);
      },
      measured: (usage) => {
        this.usage = usage;
      },
      spent: (spending) => this.parts.spent(this, spending),
    };
  }

  /** Does not wait, because the task may run again after a crash. If storing fails, the journal ends the run. */
  private noteStart({ attempt }: TaskContext, { startedAt }: RunningTask): void {
    const { journal } = this.parts;
    if (attempt === 1) journal.startedSoon(this.seq, startedAt);
    else journal.started(this.seq).catch(() => {});
  }

  private async startWritten(task: TaskContext): Promise<void> {
    await this.parts.journal.started(this.seq);
    task.began();
  }
}

interface ResultToStore {
  readonly text: string | undefined;
  readonly blobs?: readonly StoredBlob[];
  readonly isCached: boolean;
}

function toStored(returned: unknown, task: TaskRun): ResultToStore {
  const isCached = returned instanceof CachedResult;
  // Only the parts of a result have binary data. Any other is JSON already.
  if (isCached && !returned.json.includes('"parts"')) return { text: returned.json, isCached };
  const { value, blobs } = takeBlobs(isCached ? returned.value : returned);
  return { text: resultText(value, task), isCached, ...(blobs !== undefined && { blobs }) };
}

function resultText(value: unknown, { id, function: tool }: TaskRun): string | undefined {
  if (value instanceof JsonResult) return value.text;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw permanent(
      'UNSERIALISABLE_RESULT',
      `The result of ${id} (${tool}) cannot be written as JSON: ${unwritableText(error)}.`,
    );
  }
  if (text === undefined) return 'null';
  if (text.length <= MAX_RESULT_CHARACTERS) return text;
  throw permanent(
    'RESULT_TOO_LARGE',
    `The result of ${id} (${tool}) has ${text.length} characters as JSON; the limit is ${MAX_RESULT_CHARACTERS}. Return less, or the path of a file.`,
  );
}

function permanent(code: 'UNSERIALISABLE_RESULT' | 'RESULT_TOO_LARGE', message: string): VolleyError {
  return Object.assign(new VolleyError(code, message), { retryable: false });
}
