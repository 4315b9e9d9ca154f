import { SCALE } from './demand.ts';
import type { Effects } from './effects.ts';
import { Execution } from './execution.ts';
import type { WorkerSpec } from './placement.ts';
import { modelWork } from './plan.ts';
import { boundOf, type PlacedTasks, type PlanModel, UNLIMITED } from './plan-model.ts';
import { Scheduler } from './scheduler.ts';
import type { SchedulerLimits } from './scheduler-options.ts';
import { placeOn, SIMULATION_FIELDS, type SimulatedExecution } from './simulate.ts';

/** Why no schedule of some executions can be shorter, by their estimates. */
export interface ScheduleBounds {
  /** No schedule is shorter than this: the largest of the others. */
  readonly boundMs: number;
  /** The indexes of the longest chain of dependencies. */
  readonly path: readonly number[];
  readonly pathMs: number;
  /** The bounds of everything that all executions together could exhaust, the longest first. */
  readonly limits: readonly LimitBound[];
}

/**
 * The bound that a resource, a limit, a lock or a conflict sets: the work that uses it, divided by its capacity. On workers,
 * `largest` is the bound of the executions that need most of a resource: `capacity` is how many of them fit at once.
 */
export interface LimitBound {
  readonly kind: 'resource' | 'largest' | 'tool' | 'group' | 'lock' | 'conflict';
  readonly name: string;
  readonly ms: number;
  readonly capacity: number;
  /** The least that an execution uses of it. */
  readonly leastUse: number;
}

const NO_EFFECTS: Effects = {
  start() {},
  stop() {},
  retrying() {},
  settled() {},
  released() {},
  abandoned() {},
  resumed() {},
};

/** The bounds of executions under limits. Estimates count, not the durations of a simulation. */
export function scheduleBounds(
  executions: readonly SimulatedExecution[],
  limits: SchedulerLimits,
  workers?: readonly WorkerSpec[],
): ScheduleBounds {
  const scheduler = new Scheduler(NO_EFFECTS, { limits }, SIMULATION_FIELDS);
  if (workers !== undefined) placeOn(scheduler, workers, undefined);
  const submitted = executions.map(() => new Execution());
  scheduler.submitAll(submitted, executions, 0);
  // The submission has checked that each of them fits.
  const {
    model,
    limiters,
    resources,
    executions: ordered,
  } = modelWork(submitted, scheduler.dispatcher, scheduler.stepMs, 0)!;
  const bound = boundOf(model);
  const { names } = scheduler.dispatcher.resources;
  const indexOf = new Map(submitted.map((execution, index) => [execution, index]));
  const found = model.rows.map((row, place): LimitBound => {
    const limiter = limiters[row]!;
    const scale = limiter.kind === 'resource' ? SCALE : 1;
    return {
      kind: limiter.kind,
      name: limiter.kind === 'resource' ? names.all[limiter.index]! : limiter.name,
      ms: bound.rowMs[place]!,
      capacity: model.capacities[place]! / scale,
      leastUse: leastUse(model, place) / scale,
    };
  });
  const { places } = model;
  if (places !== undefined)
    for (const [row, index] of resources.entries())
      found.push(...workerBounds(model, places, row).map((one) => ({ ...one, name: names.all[index]! })));
  return {
    boundMs: Math.max(bound.ms, ...found.map(({ ms }) => ms)),
    path: longestPath(model).map((task) => indexOf.get(ordered[task]!)!),
    pathMs: bound.pathMs,
    limits: found.sort((a, b) => b.ms - a.ms),
  };
}

/** The most sizes of needs for which it is asked how many fit at once. */
const MAX_SIZES = 32;

/** What the capacity of all workers for one resource means: for all executions, and for the largest. */
function workerBounds(
  model: PlanModel,
  { workers, resources, capacities, useStarts, useRows, useTakes }: PlacedTasks,
  row: number,
): Omit<LimitBound, 'name'>[] {
  const uses: { need: number; ms: number }[] = [];
  for (let task = 0; task < model.size; task++)
    for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
      if (useRows[use] === row) uses.push({ need: useTakes[use]!, ms: model.leftOf(task) });
  const limits = Array.from({ length: workers }, (_, worker) => capacities[worker * resources + row]!);
  if (uses.length === 0 || limits.some((limit) => limit >= UNLIMITED)) return [];
  const total = limits.reduce((sum, limit) => sum + limit, 0);
  const leastUse = uses.reduce((least, { need }) => Math.min(least, need), Number.POSITIVE_INFINITY) / SCALE;
  const work = uses.reduce((sum, { need, ms }) => sum + need * ms, 0);
  const whole = { kind: 'resource', ms: Math.ceil(work / total), capacity: total / SCALE, leastUse } as const;
  // Of executions that need at least so much, only so many fit at once, however they are placed.
  const sizes = [...new Set(uses.map(({ need }) => need))].sort((a, b) => b - a).slice(0, MAX_SIZES);
  const bounds = sizes.map((size) => {
    const slots = limits.reduce((sum, limit) => sum + Math.floor(limit / size), 0);
    const ms = uses.reduce((sum, use) => sum + (use.need >= size ? use.ms : 0), 0);
    return { kind: 'largest', ms: Math.ceil(ms / slots), capacity: slots, leastUse: size / SCALE } as const;
  });
  const largest = bounds.reduce((best, one) => (one.ms > best.ms ? one : best));
  return largest.ms > whole.ms ? [whole, largest] : [whole];
}

function leastUse({ useRows, useTakes }: PlanModel, row: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let use = 0; use < useRows.length; use++)
    if (useRows[use] === row && useTakes[use]! > 0) least = Math.min(least, useTakes[use]!);
  return least;
}

function longestPath({ size, paths, before, after }: PlanModel): number[] {
  let next = -1;
  for (let task = 0; task < size; task++) {
    const isFirst = before.starts[task] === before.starts[task + 1];
    if (isFirst && (next < 0 || paths[task]! > paths[next]!)) next = task;
  }
  const path: number[] = [];
  while (next >= 0) {
    path.push(next);
    const behind = after.values.subarray(after.starts[next]!, after.starts[next + 1]!);
    next = behind.reduce((best, task) => (best < 0 || paths[task]! > paths[best]! ? task : best), -1);
  }
  return path;
}
