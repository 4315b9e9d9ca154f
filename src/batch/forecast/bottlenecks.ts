import { WORKER_LABEL } from '../../core/labels.ts';
import type { WorkerSpec } from '../../core/placement.ts';
import { type LimitBound, type ScheduleBounds, scheduleBounds } from '../../core/schedule-bounds.ts';
import type { SchedulerLimits } from '../../core/scheduler-options.ts';
import { type SimulatedExecution, type SimulationOptions, simulate } from '../../core/simulate.ts';

/** What a batch gains if there were more of something. */
export interface Gain {
  readonly limit:
    | Pick<LimitBound, 'kind' | 'name'>
    | { readonly kind: 'worker' | 'slots'; readonly name: string };
  /** How much more: one, or the least that a task uses of it if that is more. */
  readonly more: number;
  /** How long the batch would take then. */
  readonly expectedMs: number;
}

/** How close a batch comes to the shortest possible time, and what keeps it from being faster. */
export interface Bottlenecks extends ScheduleBounds {
  readonly expectedMs: number;
  /** How long it would take in the order of urgency, without a plan. */
  readonly unplannedMs: number;
  /** For everything that is scarce, the largest gain first. */
  readonly gains: readonly Gain[];
}

/** How many limits are tried, and how many executions are simulated for that. */
const MAX_TRIED = 8;
const MAX_SIMULATED = 200_000;
/** How many kinds of workers are tried. */
const MAX_KINDS = 4;

/** Finds the bottlenecks of executions with known durations. */
export function bottlenecksOf(
  executions: readonly SimulatedExecution[],
  limits: SchedulerLimits,
  options: Pick<SimulationOptions, 'workers' | 'placement' | 'group'> = {},
): Bottlenecks {
  const { workers } = options;
  const bounds = scheduleBounds(executions, limits, workers);
  const tried = Math.min(MAX_TRIED, Math.floor(MAX_SIMULATED / (executions.length + 1)));
  const expectedMs = simulate(executions, limits, options).makespanMs;
  const gains = bounds.limits
    .filter(
      ({ kind }) => kind === 'tool' || kind === 'group' || (kind === 'resource' && workers === undefined),
    )
    .slice(0, tried)
    .map((limit): Gain => {
      const more = Math.max(1, limit.leastUse);
      const raised = raisedLimits(limits, limit, limit.capacity + more);
      return { limit, more, expectedMs: simulate(executions, raised, options).makespanMs };
    });
  for (const { limit, workers: more } of workers === undefined ? [] : moreWorkers(workers))
    gains.push({
      limit,
      more: 1,
      expectedMs: simulate(executions, limits, { ...options, workers: more }).makespanMs,
    });
  gains.sort((a, b) => a.expectedMs - b.expectedMs);
  return {
    ...bounds,
    expectedMs,
    unplannedMs: simulate(executions, limits, { ...options, plan: 'off' }).makespanMs,
    gains,
  };
}

/** One more worker of each kind, and one more slot on each. */
function moreWorkers(
  workers: readonly WorkerSpec[],
): { readonly limit: Gain['limit']; readonly workers: readonly WorkerSpec[] }[] {
  const kinds = new Map<string, WorkerSpec>();
  for (const worker of workers) {
    const { [WORKER_LABEL]: _, ...labels } = worker.labels ?? {};
    const key = JSON.stringify([worker.capacity, labels]);
    if (!kinds.has(key)) kinds.set(key, worker);
  }
  const added = [...kinds.values()].slice(0, MAX_KINDS).map((worker) => ({
    limit: { kind: 'worker', name: String(worker.labels?.[WORKER_LABEL] ?? worker.id) } as const,
    workers: [...workers, { ...worker, id: `another ${worker.id}` }],
  }));
  const larger = workers.map(({ capacity = {}, ...worker }) => ({
    ...worker,
    capacity: { ...capacity, concurrency: (capacity.concurrency ?? Number.POSITIVE_INFINITY) + 1 },
  }));
  return [...added, { limit: { kind: 'slots', name: '' }, workers: larger }];
}

function raisedLimits(limits: SchedulerLimits, { kind, name }: LimitBound, value: number): SchedulerLimits {
  if (kind === 'resource')
    return Object.hasOwn(limits.resources ?? {}, name)
      ? { ...limits, resources: { ...limits.resources, [name]: value } }
      : { ...limits, [name]: value };
  const key = kind === 'tool' ? 'tools' : 'groups';
  const known = limits[key] ?? {};
  return { ...limits, [key]: { ...known, [name]: { ...known[name], maxConcurrency: value } } };
}
