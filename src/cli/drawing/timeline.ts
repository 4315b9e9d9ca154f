import type { FinishedTask } from './finished-task.ts';

/** A task on the time line, or one of its attempts; times count from the first start. */
export interface Span {
  readonly task: FinishedTask;
  readonly startMs: number;
  readonly endMs: number;
  /** From 0: tasks of one lane never overlap. */
  readonly lane: number;
}

export interface Timeline {
  /** How many tasks were started. */
  readonly taskCount: number;
  /** In the order of their starts. */
  readonly spans: readonly Span[];
  readonly laneCount: number;
  /** From the first start to the last end. */
  readonly lengthMs: number;
}

/** Places all tasks that were started into as few lanes as there were tasks at once, the first lanes first. */
export function timelineOf(tasks: readonly FinishedTask[]): Timeline {
  const started = tasks.flatMap(triesOf);
  let origin = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { startMs, endMs } of started) {
    origin = Math.min(origin, startMs);
    last = Math.max(last, startMs, endMs ?? startMs);
  }
  if (started.length === 0) return { taskCount: 0, spans: [], laneCount: 0, lengthMs: 0 };
  // What was not finished when it was stopped is drawn up to the end; a clock that was set back makes no negative time.
  const times = started.map(({ task, startMs, endMs = last }) => ({
    task,
    startMs: startMs - origin,
    endMs: Math.max(startMs, endMs) - origin,
  }));
  times.sort((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  const { lanes, laneCount } = packLanes(times);
  return {
    taskCount: new Set(started.map(({ task }) => task)).size,
    spans: times.map((time, index) => ({ ...time, lane: lanes[index]! })),
    laneCount,
    lengthMs: last - origin,
  };
}

interface Try {
  readonly task: FinishedTask;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

/** When a task worked: a pause before another attempt is no work, and takes no lane. */
function triesOf(task: FinishedTask): Try[] {
  const { startMs, endMs, durationMs, tries } = task;
  if (tries !== undefined) return tries.map((one) => ({ task, ...one }));
  if (startMs === undefined) return [];
  return [{ task, startMs, endMs: durationMs === undefined ? endMs : startMs + durationMs }];
}

/** Gives each, in the order of starts, the first lane that is free by then. */
export function packLanes(times: readonly { readonly startMs: number; readonly endMs: number }[]): {
  lanes: number[];
  laneCount: number;
} {
  const lanes: number[] = new Array(times.length).fill(-1);
  const byEnd = times.map((_, index) => index).sort((a, b) => times[a]!.endMs - times[b]!.endMs || a - b);
  const free: number[] = [];
  let laneCount = 0;
  let nextEnd = 0;
  for (let index = 0; index < times.length; index++) {
    // One of no length ends when it starts: it is not there yet.
    while (nextEnd < byEnd.length && times[byEnd[nextEnd]!]!.endMs <= times[index]!.startMs) {
      const lane = lanes[byEnd[nextEnd]!]!;
      if (lane < 0) break;
      insertDescending(free, lane);
      nextEnd++;
    }
    lanes[index] = free.pop() ?? laneCount++;
  }
  return { lanes, laneCount };
}

function insertDescending(sorted: number[], value: number): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! > value) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, value);
}
