import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { simulate } from '../../../src/core/simulate.ts';
import { batchTasks } from '../../../src/tasks/run/batch-tasks.ts';
import { feature } from '../support/feature.ts';

interface Row {
  readonly seq: string;
  readonly depends_on: readonly string[];
  readonly seconds: number;
}

const ROWS = JSON.parse(readFileSync(new URL('./fixtures/sixty.json', import.meta.url), 'utf8')) as Row[];
const SLOTS = 6;
const TERMS = {
  maxConcurrent: SLOTS,
  maxRetries: 0,
  timeoutMs: 3_600_000,
  stallMs: 600_000,
  budget: {},
  worktrees: false,
  workers: false,
  review: false,
  maxUnreviewed: 10,
  branch: undefined,
};

/** How long the run of a graph takes on virtual time, with what `run` gives to the engine. */
function makespan(waves: boolean): number {
  const { subtasks } = feature(
    Object.fromEntries(
      ROWS.map(({ seq, depends_on }) => [seq, { depends_on, deliverables: [`out/${seq}`] }]),
    ),
  );
  const tasks = batchTasks(subtasks, {
    feature: 'auth',
    run: 'x',
    terms: TERMS,
    waves,
    agentOf: () => 'coder',
  });
  const secondsOf = new Map(ROWS.map(({ seq, seconds }) => [seq, seconds]));
  const executions = tasks.map(({ id, depends_on = [], resources }) => {
    const { shared, exclusive = [] } = resources as { shared?: string[]; exclusive?: string[] };
    return {
      id: id as string,
      toolName: 'delegate_subtask',
      dependsOn: depends_on as string[],
      resources: { cpu: 0, memoryMb: 0, shared: shared ?? [], exclusive },
      durationMs: secondsOf.get(id as string)! * 1000,
      timeoutMs: TERMS.timeoutMs,
    };
  });
  return simulate(executions, { concurrency: SLOTS }, { seed: 1 }).makespanMs / 1000;
}

it('60 subtasks run within 10 % of the shortest time there is, where waves need over 25 % more', () => {
  const ends = new Map<string, number>();
  for (const { seq, depends_on, seconds } of ROWS)
    ends.set(seq, seconds + Math.max(0, ...depends_on.map((one) => ends.get(one)!)));
  const work = ROWS.reduce((sum, { seconds }) => sum + seconds, 0);
  const bound = Math.max(...ends.values(), work / SLOTS);
  const asReady = makespan(false);
  expect(asReady / bound).toBeLessThanOrEqual(1.1);
  expect(makespan(true) / asReady).toBeGreaterThan(1.25);
});
