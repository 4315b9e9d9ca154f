import { SCALE } from './demand.ts';
import type { Effects } from './effects.ts';
import { Execution } from './execution.ts';
import { modelWork } from './plan.ts';
import { boundOf, type PlanModel } from './plan-model.ts';
import { Scheduler } from './scheduler.ts';
import type { SchedulerLimits } from './scheduler-options.ts';
import { SIMULATION_FIELDS, type SimulatedExecution } from './simulate.ts';

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

/** The bound that a resource, a limit, a lock or a conflict sets: the work that uses it, divided by its capacity. */
export interface LimitBound {
  readonly kind: 'resource' | 'tool' | 'group' | 'lock' | 'conflict';
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
): ScheduleBounds {
  const scheduler = new Scheduler(NO_EFFECTS, { limits }, SIMULATION_FIELDS);
  const submitted = executions.map(() => new Execution());
  scheduler.submitAll(submitted, executions, 0);
  // The submission has checked that each of them fits.
  const {
    model,
    limiters,
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
  return {
    boundMs: bound.ms,
    path: longestPath(model).map((task) => indexOf.get(ordered[task]!)!),
    pathMs: bound.pathMs,
    limits: found.sort((a, b) => b.ms - a.ms),
  };
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
