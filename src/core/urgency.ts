import type { Execution } from './execution.ts';

/**
 * The order of starting, as one number that never changes while an execution waits.
 *
 * Each execution would like to start within an allowance that depends on its priority: nothing for `critical`, one
 * step for `high`, up to four steps for `background`. What has the least slack before that moment goes first, where
 * the slack is shortened by the longest path of work that waits behind it, by less than one step. So a higher
 * priority wins among what is submitted together, the critical path wins within a priority, and waiting wins in the
 * end: whatever was submitted five steps earlier goes first, whatever its priority.
 */
export function rankOf(execution: Execution, stepMs: number): number {
  const { urgentBy, pathMs } = execution;
  // Not cut off at one step: among long paths, too, the longer goes first. A small integer, because it is kept for each.
  return urgentBy - (((stepMs * pathMs) / (stepMs + pathMs)) | 0);
}

/** How far a longer path is carried to those it waits for when a single execution is added. */
const PATH_STEPS = 64;

/**
 * Makes what the given executions wait for as urgent as they are, and lengthens its paths. Urgency travels as far
 * as it must: each execution can become more urgent a few times only. A longer path travels a bounded number of
 * steps, so that building a long chain one by one stays linear; a group that is submitted whole is exact.
 */
export function raiseDependencies(from: readonly Execution[], changed: (execution: Execution) => void): void {
  const work = [...from];
  let pathSteps = PATH_STEPS * from.length;
  for (let next = 0; next < work.length; next++) {
    const execution = work[next]!;
    if (execution.dependencies === undefined) continue;
    for (const dependency of execution.dependencies) {
      if (dependency.isDone) continue;
      const isMoreUrgent = execution.urgentBy < dependency.urgentBy;
      const pathMs = dependency.estimateMs + execution.pathMs;
      const isLonger = pathMs > dependency.pathMs && pathSteps-- > 0;
      if (!isMoreUrgent && !isLonger) continue;
      if (isMoreUrgent) {
        dependency.urgentBy = execution.urgentBy;
        dependency.level = Math.min(dependency.level, execution.level);
      }
      if (isLonger) dependency.pathMs = pathMs;
      changed(dependency);
      work.push(dependency);
    }
  }
}

/**
 * The same within a group that is submitted whole, for those of it that have dependencies, in topological order: each
 * edge is looked at once. Numbers from `firstSeq` on are of the group.
 */
export function raiseWithin(order: readonly Execution[], firstSeq: number): void {
  for (let index = order.length - 1; index >= 0; index--) {
    const execution = order[index]!;
    for (const dependency of execution.dependencies!) {
      if (dependency.seq < firstSeq) continue;
      const pathMs = dependency.estimateMs + execution.pathMs;
      if (pathMs > dependency.pathMs) dependency.pathMs = pathMs;
      if (execution.urgentBy < dependency.urgentBy) {
        dependency.urgentBy = execution.urgentBy;
        dependency.level = Math.min(dependency.level, execution.level);
      }
    }
  }
}
