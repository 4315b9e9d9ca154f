import type { Effects } from './effects.ts';
import { Execution } from './execution.ts';
import { type Limiter, modelWork } from './plan.ts';
import { boundOf } from './plan-model.ts';
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
  /** The work that uses something, divided by its capacity. Only what all executions together could exhaust. */
  readonly limits: readonly LimitBound[];
}

/** The bound that a resource, a limit or a lock sets. */
export interface LimitBound {
  readonly limiter: Limiter;
  readonly ms: number;
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
  const work = modelWork(submitted, scheduler.dispatcher, scheduler.stepMs, 0)!;
  const { model } = work;
  const bound = boundOf(model);
  const indexOf = new Map(submitted.map((execution, index) => [execution, index]));
  return {
    boundMs: bound.ms,
    path: longestPath(model).map((task) => indexOf.get(work.executions[task]!)!),
    pathMs: bound.pathMs,
    limits: model.rows
      .map((row, place) => ({ limiter: work.limiters[row]!, ms: bound.rowMs[place]! }))
      .sort((a, b) => b.ms - a.ms),
  };
}

function longestPath({ size, paths, before, after }: Parameters<typeof boundOf>[0]): number[] {
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
