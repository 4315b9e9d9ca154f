import type { TaskCounts } from '../../batch/counts.ts';
import type { StoredSpending } from '../../store/records.ts';
import type { TimeRange } from '../output/numbers.ts';

/** A snapshot of a batch: everything that a display shows. */
export interface DisplayedBatch {
  readonly name: string;
  readonly counts: TaskCounts;
  /** How many results came from the cache. */
  readonly cached?: number;
  readonly spending?: StoredSpending | undefined;
  /** 0 to 1: completed tasks, and the reported part of running ones. */
  readonly progress: number;
  /** Undefined while unknown. */
  readonly ratePerSecond: number | undefined;
  readonly timeLeft: TimeRange | undefined;
  readonly running: readonly DisplayedTask[];
  /** How many tasks have started and only wait. They are not in the list of running ones. */
  readonly idle?: number;
  /** More to say beside the counts, such as the cost. */
  readonly facts?: readonly string[];
  /** What waits, and why. */
  readonly waiting?: readonly string[];
  /** Shown to the user all the time, such as how to stop now. */
  readonly note?: string;
}

/** A running task. */
export interface DisplayedTask {
  readonly name: string;
  readonly function: string;
  /** When its attempt began, by the clock of the display. */
  readonly startedAt: number;
  /** 0 to 1, if it reports progress. */
  readonly progress?: number | undefined;
  readonly step?: string | undefined;
  /** Shown below it where there is room, such as why its last attempt failed. */
  readonly note?: string | undefined;
  /** Whether it is a group, which waits for its items. */
  readonly isGroup?: boolean;
  /** If it is an item: the id of its group. */
  readonly group?: string | undefined;
}

export interface DisplayedFailure {
  readonly name: string;
  readonly function: string;
  /** `error`, `timeout`, `memory` and so on. */
  readonly reason: string;
  readonly message: string;
  readonly attempts: number;
}

export interface DisplayedCompletion {
  readonly name: string;
  readonly function: string;
  readonly durationMs: number;
  /** If its result came from the cache. */
  readonly cached?: true;
}

/** Shows a batch while it runs. */
export interface Display {
  /** How often it needs a new view. */
  readonly refreshMs: number;
  /** Something changed. The display asks for the view when it draws. */
  changed(): void;
  failed(task: DisplayedFailure): void;
  completed(task: DisplayedCompletion): void;
  /** Removes the live picture and keeps the lines. */
  close(): void;
}

interface NamedTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
}

/** The name of a task, or its id where the name is just that of the tool. */
export function taskLabel({ id, name, function: tool }: NamedTask): string {
  return name === tool ? id : name;
}

/** Views list at most this many running tasks. */
const MAX_LISTED = 100;

/** The running tasks, without groups. The store counts a little late, so the list is right while it is complete. */
export function runningCount({
  counts,
  running,
  idle = 0,
}: Pick<DisplayedBatch, 'counts' | 'running' | 'idle'>): number {
  const groups = running.filter(({ isGroup }) => isGroup).length;
  const isComplete = running.length > 0 && running.length < MAX_LISTED;
  return (isComplete ? running.length : Math.max(0, counts.running - idle)) - groups;
}
