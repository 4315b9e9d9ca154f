import type { Block } from './block.ts';
import type { Execution } from './execution.ts';
import { inOrder } from './execution-graph.ts';

/**
 * The start order, as one number that never changes while an execution waits, unless what depends on it does.
 *
 * Each execution should start within an allowance that depends on its priority: zero for `critical`, one step for
 * `high`, up to four steps for `background`. The execution with the least slack goes first. The longest path of work
 * that depends on it shortens the slack by less than one step. So a higher priority wins among executions submitted
 * together, the critical path wins within a priority, and waiting wins in the end: an execution submitted five steps
 * earlier goes first, whatever its priority.
 */
export function rankOf(urgentBy: number, pathMs: number, stepMs: number): number {
  // Neither clamped at one step nor rounded, so that the longer of two long paths still goes first.
  return urgentBy - (stepMs * pathMs) / (stepMs + pathMs);
}

/** When an execution should have started by, before inheritance. */
export function wishedStart(level: number, submittedAt: number, stepMs: number): number {
  return submittedAt + level * stepMs;
}

/** How many steps a longer path propagates when a single execution is added. */
const PATH_STEPS = 64;

/**
 * Propagates urgency and path lengths from the given executions to their dependencies. Urgency travels as far as it
 * must: each execution can become more urgent only a few times. A longer path travels a bounded number of steps, so
 * that building a long chain one by one stays linear. A group that is submitted whole is exact.
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

/** No inherited level: the execution keeps its own. */
const NOT_RAISED = 255;

/**
 * The same within a group that is submitted whole, exact and visiting each edge once. Going from last to first, each
 * execution is complete when it is reached: what it inherits was collected in arrays until then, so none is touched
 * twice. Executions submitted together are ordered by level.
 */
function raiseWithin({ nodes, starts, entries, order }: Block<Execution>, stepMs: number): void {
  const levels = new Uint8Array(nodes.length).fill(NOT_RAISED);
  // Not an array of doubles: small integers must be stored as such, or each execution grows by a boxed number.
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

/** Propagates urgency and paths through a new group and on to its dependencies outside. */
export function raiseGroup(
  block: Block<Execution>,
  stepMs: number,
  changed: (execution: Execution) => void,
): void {
  raiseWithin(block, stepMs);
  if (block.older.length === 0) return;
  const entries = inOrder(block).filter(({ seq }) => block.reachesOut(seq - block.firstSeq));
  raiseDependencies(entries, changed);
}

/**
 * Recomputes the paths of unsettled executions from what is known of their tools now. They must be in order of
 * submission, and those submitted together must be next to each other: then each is reached after all that depends on
 * it. Paths of executions outside are only ever made longer, when something is submitted.
 */
export function renewPaths(executions: readonly Execution[], changed: (execution: Execution) => void): void {
  for (let at = executions.length - 1; at >= 0; at--) {
    const execution = executions[at]!;
    const block = execution.block as Block<Execution> | undefined;
    if (block?.order === undefined) {
      renewPath(execution, block, changed);
      continue;
    }
    const { nodes, order } = block;
    for (let place = order.length - 1; place >= 0; place--) {
      const node = nodes[order[place]!]!;
      if (!node.isDone) renewPath(node, block, changed);
    }
    while (at > 0 && executions[at - 1]!.block === block) at--;
  }
}

function renewPath(
  execution: Execution,
  block: Block<Execution> | undefined,
  changed: (execution: Execution) => void,
): void {
  let behindMs = 0;
  if (block !== undefined) {
    const { nodes, dependentStarts, dependentPlaces } = block;
    const place = execution.seq - block.firstSeq;
    for (let at = dependentStarts[place]!; at < dependentStarts[place + 1]!; at++) {
      const dependent = nodes[dependentPlaces[at]!]!;
      if (dependent.pathMs > behindMs && !dependent.isDone) behindMs = dependent.pathMs;
    }
  }
  for (const dependent of (execution.links?.dependents ?? []) as Execution[])
    if (dependent.pathMs > behindMs && !dependent.isDone) behindMs = dependent.pathMs;
  execution.estimateMs = execution.expectedMs;
  const pathMs = execution.estimateMs + behindMs;
  if (pathMs === execution.pathMs) return;
  execution.pathMs = pathMs;
  changed(execution);
}
