import type { FinishedTask } from './task-graph.ts';

/** A task or one of its attempts. Times count from the first start. */
export interface TaskSpan {
  readonly task: FinishedTask;
  readonly startMs: number;
  readonly endMs: number;
  /** From 0. Tasks of a lane do not overlap. */
  readonly lane: number;
}

export interface Timeline {
  /** Tasks that were started. */
  readonly taskCount: number;
  /** By start. */
  readonly spans: readonly TaskSpan[];
  readonly laneCount: number;
  /** The first lanes have the groups, which only wait. */
  readonly groupLanes: number;
  /** From the first start to the last end. */
  readonly lengthMs: number;
}

/** Packs all started tasks into as few lanes as possible. */
export function timelineOf(tasks: readonly FinishedTask[]): Timeline {
  const started = tasks.flatMap(triesOf);
  let origin = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { startMs, endMs } of started) {
    origin = Math.min(origin, startMs);
    last = Math.max(last, startMs, endMs ?? startMs);
  }
  if (started.length === 0) return { taskCount: 0, spans: [], laneCount: 0, groupLanes: 0, lengthMs: 0 };
  // An unfinished task is drawn to the end. A clock that was set back makes no negative time.
  const times = started.map(({ task, startMs, endMs = last }) => ({
    task,
    startMs: startMs - origin,
    endMs: Math.max(startMs, endMs) - origin,
  }));
  times.sort((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  const { lanes, laneCount, groupLanes } = packWithGroups(times, ({ task }) => task.isGroup === true);
  return {
    taskCount: new Set(started.map(({ task }) => task)).size,
    spans: times.map((time, index) => ({ ...time, lane: lanes[index]! })),
    laneCount,
    groupLanes,
    lengthMs: last - origin,
  };
}

interface Try {
  readonly task: FinishedTask;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

/** The times in which a task worked. A pause between attempts takes no lane. */
function triesOf(task: FinishedTask): Try[] {
  const { startMs, endMs, durationMs, tries } = task;
  if (tries !== undefined) return tries.map((one) => ({ task, ...one }));
  if (startMs === undefined) return [];
  return [{ task, startMs, endMs: durationMs === undefined ? endMs : startMs + durationMs }];
}

/** Packs groups into the first lanes, and everything else below them. */
export function packWithGroups<T extends { readonly startMs: number; readonly endMs: number }>(
  times: readonly T[],
  isGroup: (time: T) => boolean,
): { lanes: number[]; laneCount: number; groupLanes: number } {
  const groups = packLanes(times.filter(isGroup));
  const others = packLanes(times.filter((time) => !isGroup(time)));
  let [group, other] = [0, 0];
  const lanes = times.map((time) =>
    isGroup(time) ? groups.lanes[group++]! : others.lanes[other++]! + groups.laneCount,
  );
  return { lanes, laneCount: groups.laneCount + others.laneCount, groupLanes: groups.laneCount };
}

/** Gives each time span, in the order of starts, the first free lane. */
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
    // A span of no length ends as it starts, before it has a lane.
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

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 6, 12].map((hours) => hours * HOUR),
];

interface Tick {
  readonly ms: number;
  readonly text: string;
}

/** About `most` round marks for a part of a timeline that begins at 0. */
export function ticksFor(lengthMs: number, max: number, fromMs = 0): Tick[] {
  const min = lengthMs / max;
  const days = Math.max(1, Math.ceil(min / (24 * HOUR)));
  const step = STEPS.find((one) => one >= min) ?? days * 24 * HOUR;
  const ticks: Tick[] = [];
  const first = Math.max(0, Math.ceil(fromMs / step)) * step;
  for (let ms = first; ms <= fromMs + lengthMs; ms += step) ticks.push({ ms, text: tickText(ms, step) });
  return ticks;
}

/** In the unit of the step: `0`, `250 ms`, `1.5 s`, `2:30`, `1:00 h`. */
function tickText(ms: number, step: number): string {
  if (ms === 0) return '0';
  if (step < SECOND && ms < SECOND) return `${ms} ms`;
  if (ms < MINUTE) return `${Number((ms / SECOND).toFixed(3))} s`;
  if (step < SECOND) return `${Number((ms / SECOND).toFixed(3))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}:${twoDigits((ms % MINUTE) / SECOND)} min`;
  return `${Math.floor(ms / HOUR)}:${twoDigits((ms % HOUR) / MINUTE)} h`;
}

function twoDigits(value: number): string {
  return String(Math.floor(value)).padStart(2, '0');
}
