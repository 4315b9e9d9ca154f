import type { SchedulerLimits } from '../../core/scheduler-options.ts';
import { type SimulatedExecution, simulate } from '../../core/simulate.ts';
import { dependenciesOf, depthsOf, topologicalPlaces } from '../drawing/layers.ts';

/** A task that is to be run. */
export interface TaskToPlan {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly dependsOn: readonly string[];
  /** How long it is likely to take; undefined where nobody knows. */
  readonly expectedMs: number | undefined;
  /** What else the scheduler goes by. */
  readonly terms?: Pick<
    SimulatedExecution,
    'priority' | 'resources' | 'conflictsWith' | 'onDependencyFailure'
  >;
}

/** What would happen if a batch were started. */
export interface BatchPlan {
  readonly name: string;
  readonly maxConcurrent: number;
  /** In the order in which they would start. */
  readonly tasks: readonly PlannedTask[];
  /** How many tasks are in each wave: those that depend on nothing, those that depend on these, and so on. */
  readonly waves: readonly number[];
  /** The chain of tasks that takes longest, from first to last; the batch cannot be faster, however many run at once. */
  readonly criticalPath: readonly PlannedTask[];
  readonly criticalPathMs: number;
  /** From the first start to the last end. */
  readonly expectedMs: number;
  /** One after the other. */
  readonly workMs: number;
  /** Functions whose duration nobody knows yet: for them the mean of the others is taken, or a second. */
  readonly unknown: readonly string[];
}

interface PlannedTask {
  readonly task: TaskToPlan;
  /** From 1. */
  readonly wave: number;
  readonly startMs: number;
  readonly endMs: number;
}

const UNKNOWN_MS = 1000;

/** Plays a batch through on paper, with the scheduler that would run it. */
export function planBatch(
  name: string,
  tasks: readonly TaskToPlan[],
  maxConcurrent: number,
  limits: SchedulerLimits = {},
): BatchPlan {
  const known = tasks.flatMap(({ expectedMs }) => (expectedMs === undefined ? [] : [expectedMs]));
  const mean = known.length === 0 ? UNKNOWN_MS : known.reduce((sum, ms) => sum + ms, 0) / known.length;
  const durations = tasks.map(({ expectedMs }) => expectedMs ?? mean);
  const executions = tasks.map(({ id, function: toolName, dependsOn, terms }, place) => ({
    ...terms,
    id,
    toolName,
    dependsOn,
    durationMs: durations[place]!,
    // The order of a real run knows as much.
    estimatedMs: Math.max(1, durations[place]!),
    timeoutMs: Number.POSITIVE_INFINITY,
  }));
  const { schedule, makespanMs } = simulate(executions, { ...limits, concurrency: maxConcurrent });
  const dependencies = dependenciesOf(tasks);
  const depths = depthsOf(dependencies);
  const planned = schedule.map(({ index, startMs, endMs }) => ({
    task: tasks[index]!,
    wave: depths[index]! + 1,
    startMs,
    endMs,
  }));
  const byId = new Map(planned.map((one) => [one.task.id, one]));
  const path = longestChain(dependencies.before, topologicalPlaces(dependencies), durations);
  const waves: number[] = [];
  for (const depth of depths) waves[depth] = (waves[depth] ?? 0) + 1;
  return {
    name,
    maxConcurrent,
    tasks: planned,
    waves,
    criticalPath: path.flatMap((place) => byId.get(tasks[place]!.id) ?? []),
    criticalPathMs: path.reduce((sum, place) => sum + durations[place]!, 0),
    expectedMs: makespanMs,
    workMs: durations.reduce((sum, ms) => sum + ms, 0),
    unknown: [...new Set(tasks.flatMap((task) => (task.expectedMs === undefined ? [task.function] : [])))],
  };
}

/** The places of the chain with the greatest sum, the first first. */
function longestChain(
  before: readonly (readonly number[])[],
  order: readonly number[],
  durations: readonly number[],
): number[] {
  const ends: number[] = new Array(durations.length).fill(0);
  const cameFrom: number[] = new Array(durations.length).fill(-1);
  let last = -1;
  for (const place of order) {
    for (const earlier of before[place]!) {
      if (cameFrom[place]! < 0 || ends[earlier]! > ends[cameFrom[place]!]!) cameFrom[place] = earlier;
    }
    const from = cameFrom[place]!;
    ends[place] = durations[place]! + (from < 0 ? 0 : ends[from]!);
    if (last < 0 || ends[place]! > ends[last]!) last = place;
  }
  const path: number[] = [];
  for (let place = last; place >= 0; place = cameFrom[place]!) path.push(place);
  return path.reverse();
}
