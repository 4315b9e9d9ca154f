import { describe, expect, it } from 'vitest';
import { VolleyError } from '../../src/core/errors.ts';
import { Execution } from '../../src/core/execution.ts';
import { Scheduler } from '../../src/core/scheduler.ts';
import type { ExecutionSpec } from '../../src/core/spec.ts';
import type { DependencyPolicy } from '../../src/core/terms.ts';
import { validate } from '../../src/core/validate.ts';
import { isDeep } from '../support/depth.ts';
import { SILENT_EFFECTS } from './support/silent-effects.ts';
import { allGraphs, allLists, orderOf, type SmallGraph, shapeOf } from './support/small-graphs.ts';

type Outcome = 'completed' | 'failed' | 'cancelled';

const OUTCOMES: readonly Outcome[] = ['completed', 'failed', 'cancelled'];
const POLICIES: readonly DependencyPolicy[] = ['skip', 'run', 'on-failure'];
const NAMES = ['a', 'b', 'c', 'd'];

function specsOf(graph: SmallGraph, policies?: readonly DependencyPolicy[]): ExecutionSpec[] {
  return graph.map((dependsOn, at) => ({
    id: NAMES[at]!,
    toolName: 'tool',
    dependsOn: dependsOn.map((to) => NAMES[to]!),
    onDependencyFailure: policies?.[at] ?? 'skip',
  }));
}

/** What must become of each node, by the words of the policies alone. */
function expectedStatuses(
  graph: SmallGraph,
  policies: readonly DependencyPolicy[],
  outcomes: readonly Outcome[],
): string[] {
  const statuses: string[] = [];
  for (const at of orderOf(graph)!) {
    const isSuccess = graph[at]!.every((to) => statuses[to] === 'completed');
    const policy = policies[at]!;
    const runs = policy === 'run' || (policy === 'skip' ? isSuccess : !isSuccess);
    statuses[at] = runs ? outcomes[at]! : 'skipped';
  }
  return statuses;
}

/** Runs a graph on one scheduler, the newest or the oldest attempt ending first, and checks the order of everything. */
function run(
  graph: SmallGraph,
  policies: readonly DependencyPolicy[],
  outcomes: readonly Outcome[],
  { newestFirst, checksEachStep }: { newestFirst: boolean; checksEachStep: boolean },
): string[] {
  const running: Execution[] = [];
  const settled: Execution[] = [];
  const executions = graph.map(() => new Execution());
  const scheduler = new Scheduler(
    {
      ...SILENT_EFFECTS,
      start: (execution) => {
        const at = executions.indexOf(execution);
        if (!graph[at]!.every((to) => settled.includes(executions[to]!)))
          throw new Error('started too early');
        running.push(execution);
      },
      settled: (execution) => {
        if (settled.includes(execution)) throw new Error('settled twice');
        settled.push(execution);
      },
    },
    { graceMs: 0 },
  );
  scheduler.submitAll(executions, specsOf(graph, policies), 1);
  for (;;) {
    if (checksEachStep) validate(scheduler);
    scheduler.advance(1);
    const next = newestFirst ? running.pop() : running.shift();
    if (next === undefined) break;
    const outcome = outcomes[executions.indexOf(next)];
    if (outcome === 'completed') scheduler.succeed(next, 1, 1);
    else if (outcome === 'failed') scheduler.fail(next, 1, { reason: 'error' }, 1);
    else scheduler.cancel([next], 'asked', 1);
  }
  validate(scheduler);
  for (const execution of executions) checkCause(execution);
  return executions.map(({ statusName }) => statusName);
}

/** A root cause is one that ran and did not complete, or a compensation that was not needed. */
function checkCause({ ending }: Execution): void {
  if (ending?.kind !== 'skipped' || ending.cause === undefined) return;
  const root = ending.cause.ending;
  const isRoot =
    root?.kind === 'failed' ||
    root?.kind === 'cancelled' ||
    (root?.kind === 'skipped' && root.cause === undefined);
  if (!isRoot) throw new Error(`${ending.cause.id} is not a root cause`);
}

describe('every graph of up to four nodes', () => {
  it('is refused if it has a cycle, with a path that is one, and nothing is left of it', () => {
    let refused = 0;
    for (const size of isDeep ? [1, 2, 3, 4] : [1, 2, 3]) {
      for (const graph of allGraphs(size, size < 4)) {
        if (orderOf(graph) !== undefined) continue;
        const scheduler = new Scheduler(SILENT_EFFECTS);
        const executions = graph.map(() => new Execution());
        const path = cycleOf(() => scheduler.submitAll(executions, specsOf(graph), 1));
        if (!isCycle(graph, path)) expect.fail(`${path} is not a cycle of ${JSON.stringify(graph)}`);
        const isEmpty =
          [...scheduler.graph].length === 0 && scheduler.lifecycle.counts.every((count) => count === 0);
        if (!isEmpty) expect.fail(`something was left of ${JSON.stringify(graph)}`);
        validate(scheduler);
        refused++;
      }
    }
    expect(refused).toBe(1 + 13 + 487 + (isDeep ? 3553 : 0));
  });

  it.each([[1, 1], [2, 3], [3, 25], ...(isDeep ? [[4, 543] as const] : [])] as const)(
    'of %i nodes ends as its policies say, for every outcome of every node',
    { timeout: 300_000 },
    (size, count) => {
      const shapes = new Set<string>();
      let graphs = 0;
      for (const graph of allGraphs(size, false)) {
        if (orderOf(graph) === undefined) continue;
        graphs++;
        // Each shape is tried with every mix of policies; in other orders of writing it down, with the uniform ones.
        const isNewShape = shapes.size < shapes.add(shapeOf(graph)).size;
        const mixes = isNewShape
          ? allLists(POLICIES, size)
          : POLICIES.map((policy) => Array(size).fill(policy));
        for (const policies of mixes) {
          for (const outcomes of allLists(size < 4 ? OUTCOMES : OUTCOMES.slice(0, 2), size)) {
            const expected = expectedStatuses(graph, policies, outcomes);
            // What would have become of those that are skipped makes no other run.
            if (expected.some((status, at) => status === 'skipped' && outcomes[at] !== OUTCOMES[0])) continue;
            const how = { newestFirst: graphs % 2 === 0, checksEachStep: size < 4 };
            const found = run(graph, policies, outcomes, how);
            if (`${found}` === `${expected}`) continue;
            expect.fail(
              `${JSON.stringify({ graph, policies, outcomes })} gave ${found} instead of ${expected}`,
            );
          }
        }
      }
      expect(graphs).toBe(count);
    },
  );
});

function isCycle(graph: SmallGraph, path: readonly string[]): boolean {
  const nodes = path.map((id) => NAMES.indexOf(id));
  const isLinked = nodes.every((node, step) => step === 0 || graph[nodes[step - 1]!]!.includes(node));
  return (
    isLinked && nodes.length > 1 && nodes[0] === nodes.at(-1) && new Set(nodes).size === nodes.length - 1
  );
}

function cycleOf(submit: () => unknown): string[] {
  try {
    submit();
  } catch (error) {
    if (error instanceof VolleyError && error.code === 'DEPENDENCY_CYCLE')
      return (error.details as { path: string[] }).path;
    throw error;
  }
  throw new Error('a cycle was accepted');
}
