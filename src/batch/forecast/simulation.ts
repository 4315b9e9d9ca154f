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
  const drawn = Array.from({ length: runs }, (_, index) => withDurations(executions, seededRandom(index + 1)));
  const played = drawn.map((run) => simulate(run, all)).sort((a, b) => a.makespanMs - b.makespanMs);
  const works = drawn.map((run) => run.reduce((sum, { durationMs }) => sum + Math.round(durationMs), 0));
  works.sort((a, b) => a - b);
  const middlePlace = Math.round(0.5 * (runs - 1));
  const at = (share: number) => played[Math.round(share * (runs - 1))]!;
  const middle = at(0.5);
  return {
    maxConcurrent,
    lowMs: at(TAIL).makespanMs,
    expectedMs: middle.makespanMs,
    highMs: at(1 - TAIL).makespanMs,
    speedUp: middle.makespanMs === 0 ? 1 : works[middlePlace]! / middle.makespanMs,
    utilisation: middle.utilization.concurrency.meanUsed / maxConcurrent,
    resources: Object.fromEntries(
      Object.keys(limits.resources ?? {}).flatMap((name) => {
        const { meanUsed, limit } = middle.utilization[name]!;
        return meanUsed > 0 ? [[name, meanUsed / limit]] : [];
      }),
    ),
  };
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
