import type { TaskStatus } from '../../store/records.ts';
import type { TimeRange } from '../output/numbers.ts';

/** How a batch stands at one moment: all that a display shows of it. */
export interface BatchView {
  readonly name: string;
  readonly counts: TaskCounts;
  /** The share of the work that is done, 0 to 1: what has ended, and the reported part of what runs. */
  readonly progress: number;
  /** How many tasks end in a second at the moment; undefined while nobody can tell. */
  readonly ratePerSecond: number | undefined;
  readonly timeLeft: TimeRange | undefined;
  readonly running: readonly RunningTask[];
  /** A word to the user that stays in sight, such as how to stop at once. */
  readonly note?: string;
}

/** How many tasks have each status. */
export type TaskCounts = Readonly<Record<TaskStatus, number>>;

/** A task that runs now. */
export interface RunningTask {
  readonly name: string;
  readonly function: string;
  /** When its attempt began, by the clock of the display. */
  readonly startedAt: number;
  /** 0 to 1, if it reports it. */
  readonly progress?: number | undefined;
  readonly step?: string | undefined;
}

/** A task that failed, as it is told at once and in the summary. */
export interface FailedTask {
  readonly name: string;
  readonly function: string;
  /** `error`, `timeout`, `memory` and so on. */
  readonly reason: string;
  readonly message: string;
  readonly attempts: number;
}

export interface CompletedTask {
  readonly name: string;
  readonly function: string;
  readonly durationMs: number;
}

/** What shows a batch while it runs. */
export interface Display {
  /** Something of the view changed; the display asks for it when it draws. */
  changed(): void;
  failed(task: FailedTask): void;
  completed(task: CompletedTask): void;
  /** Takes the picture away, and leaves the lines. */
  close(): void;
}

/** What a display needs of time, so that a test can move it. */
export interface Timing {
  now(): number;
  /** Calls once, later; the answer cancels that. */
  after(ms: number, call: () => void): () => void;
}

export const REAL_TIMING: Timing = {
  now: () => Date.now(),
  after: (ms, call) => {
    // Looking at a batch never keeps the process alive.
    const timer = setTimeout(call, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** How many tasks there are, and how many have ended. */
export function totalsOf({ open, running, completed, failed, cancelled, skipped }: TaskCounts): {
  readonly total: number;
  readonly ended: number;
} {
  const ended = completed + failed + cancelled + skipped;
  return { total: ended + running + open, ended };
}
