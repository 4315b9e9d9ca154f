import type { Execution } from './execution.ts';
import { inOrder, type Linked } from './execution-graph.ts';

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

/** By when an execution would like to start, before it inherits anything. */
export function wishedStart(level: number, submittedAt: number, stepMs: number): number {
  return submittedAt + level * stepMs;
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
    for (const dependency of execution.dependencies ?? []) {
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

/** No level: what nobody more urgent waits for keeps its own. */
const NOT_RAISED = 255;

/**
 * The same within a group that is submitted whole, exact and with one look at each edge. From the last to the first,
 * each execution is complete when its turn comes: what it inherits was gathered in arrays until then, so none is
 * touched twice. Those that were submitted together would like to start in the order of their levels.
 */
function raiseWithin({ block, order }: Linked<Execution>, stepMs: number): void {
  const { nodes, starts, entries } = block;
  const levels = new Uint8Array(nodes.length).fill(NOT_RAISED);
  // No array of doubles: what is a small integer must be stored as one, or each execution grows by a box for it.
  const pathsBehind: number[] = new Array(nodes.length).fill(0);
  for (let at = nodes.length - 1; at >= 0; at--) {
    const place = order === undefined ? at : order[at]!;
    const execution = nodes[place]!;
    if (levels[place]! < execution.level) {
      execution.level = levels[place]!;
      execution.urgentBy = wishedStart(execution.level, execution.submittedAt, stepMs);
    }
    if (pathsBehind[place]! > 0) execution.pathMs = execution.estimateMs + pathsBehind[place]!;
    const { level, pathMs } = execution;
    for (let edge = starts[place]!; edge < starts[place + 1]!; edge++) {
      const dependency = entries[edge]!;
      if (dependency < 0) continue;
      if (level < levels[dependency]!) levels[dependency] = level;
      if (pathMs > pathsBehind[dependency]!) pathsBehind[dependency] = pathMs;
    }
  }
}

/** Carries urgency and paths through a new group, and from there to what it waits for outside. */
export function raiseGroup(
  linked: Linked<Execution>,
  stepMs: number,
  changed: (execution: Execution) => void,
): void {
  const { block } = linked;
  raiseWithin(linked, stepMs);
  if (block.older.length === 0) return;
  const entries = inOrder(linked).filter(({ seq }) => block.reachesOut(seq - block.firstSeq));
  raiseDependencies(entries, changed);
}
