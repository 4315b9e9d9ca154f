import { type Random, seededRandom } from '../../core/random.ts';
import type { SchedulerLimits } from '../../core/scheduler-options.ts';
import { type SimulatedExecution, simulate } from '../../core/simulate.ts';
import { executionsOf } from './groups.ts';
import type { RunnableBatch, RunnableTask } from './runnable.ts';

/** The predicted duration of a batch at a concurrency. */
export interface Forecast {
  readonly maxConcurrent: number;
  /** Nine in ten runs end between low and high; the median is expected. */
  readonly lowMs: number;
  readonly expectedMs: number;
  readonly highMs: number;
  /** Compared with running one task after the other. */
  readonly speedUp: number;
  /** The share of the slots in use, 0 to 1. */
  readonly utilisation: number;
  /** The share of each named resource in use, 0 to 1, of those that tasks need. */
  readonly resources: Readonly<Record<string, number>>;
}

export interface ForecastOptions {
  readonly maxConcurrent: number;
  /** Limits of the configuration. */
  readonly limits: SchedulerLimits;
  /** The assumed duration of functions that never ran. */
  readonly assumedMs: number;
}

/** How many tasks are simulated in all runs together. */
const MAX_SIMULATED = 40_000;
const MAX_RUNS = 25;
const MIN_RUNS = 3;
const TAIL = 0.05;

/** Simulates a batch several times, with durations drawn from earlier runs. Deterministic. */
export function forecastOf({ tasks, learned }: RunnableBatch, options: ForecastOptions): Forecast {
  const { maxConcurrent, limits, assumedMs } = options;
  const executions = tasks.flatMap((task) => executionsOf(executionOf(task, learned, assumedMs), task.group));
  const all = { ...limits, concurrency: maxConcurrent };
  const runs = Math.max(MIN_RUNS, Math.min(MAX_RUNS, Math.floor(MAX_SIMULATED / (executions.length + 1))));
  // Drawn by task, not in the order of starts: the same work is compared at every concurrency.
  const drawn = Array.from({ length: runs }, (_, index) =>
    withDurations(executions, seededRandom(index + 1)),
  );
  // A plan for each run would take long. It shortens all of them about as much as the expected one.
  const played = drawn.map((run) => simulate(run, all, { plan: 'off' }));
  played.sort((a, b) => a.makespanMs - b.makespanMs);
  const planned = plannedShare(executions, all);
  const works = drawn.map((run) => run.reduce((sum, { durationMs }) => sum + Math.round(durationMs), 0));
  works.sort((a, b) => a - b);
  const place = (share: number) => Math.round(share * (runs - 1));
  const msAt = (share: number) => Math.round(planned * played[place(share)]!.makespanMs);
  const expectedMs = msAt(0.5);
  const { utilization } = played[place(0.5)]!;
  return {
    maxConcurrent,
    lowMs: msAt(TAIL),
    expectedMs,
    highMs: msAt(1 - TAIL),
    speedUp: expectedMs === 0 ? 1 : works[place(0.5)]! / expectedMs,
    utilisation: utilization.concurrency.meanUsed / planned / maxConcurrent,
    resources: Object.fromEntries(
      Object.keys(limits.resources ?? {}).flatMap((name) => {
        const { meanUsed, limit } = utilization[name]!;
        return meanUsed > 0 ? [[name, meanUsed / planned / limit]] : [];
      }),
    ),
  };
}

/** By which factor a plan shortens the batch, if everything takes as long as expected. */
function plannedShare(executions: readonly SimulatedExecution[], limits: SchedulerLimits): number {
  const expected = executions.map((execution) => ({ ...execution, durationMs: execution.estimatedMs ?? 0 }));
  const unplanned = simulate(expected, limits, { plan: 'off' }).makespanMs;
  return unplanned === 0 ? 1 : Math.min(1, simulate(expected, limits).makespanMs / unplanned);
}

type DrawnExecution = SimulatedExecution & { readonly durationMs: number };

function withDurations(executions: readonly SimulatedExecution[], random: Random): DrawnExecution[] {
  return executions.map((execution) => {
    const { durationMs } = execution;
    return { ...execution, durationMs: typeof durationMs === 'number' ? durationMs : durationMs(random) };
  });
}

function executionOf(
  task: RunnableTask,
  learned: RunnableBatch['learned'],
  assumedMs: number,
): SimulatedExecution & { readonly id: string } {
  const known = learned.get(task.function);
  const draw =
    ({ samplesMs }: NonNullable<typeof known>) =>
    (random: Random) =>
      samplesMs[Math.floor(random() * samplesMs.length)]!;
  return {
    id: task.id,
    toolName: task.function,
    dependsOn: task.dependsOn,
    onDependencyFailure: task.onDependencyFailure,
    priority: task.priority,
    resources: task.resources,
    conflictsWith: task.conflictsWith,
    durationMs: known === undefined ? assumedMs : draw(known),
    estimatedMs: Math.max(1, known?.meanMs ?? assumedMs),
    // Durations of earlier runs were within their timeouts.
    timeoutMs: Number.POSITIVE_INFINITY,
  };
}
