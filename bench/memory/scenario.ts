import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import { collectGarbage } from '../harness/measure.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { randomLevels } from '../work/priorities.ts';
import type { MemoryContestant } from './queued-tasks.ts';

const CONTESTANTS: Readonly<Record<string, () => Promise<{ readonly contestant: MemoryContestant }>>> = {
  volley: () => import('./volley.ts'),
  'volley, each awaited': () => import('./volley-awaited.ts'),
  'p-queue': () => import('./p-queue.ts'),
};
const COUNT = 100_000;
const WORK: Case = {
  label: `${COUNT.toLocaleString('en-US')} queued`,
  contestants: Object.keys(CONTESTANTS),
};

export const memory: Scenario = {
  name: 'memory',
  title: 'Memory of a queued task',
  cases: () => [WORK],
  async measure(name) {
    const { contestant } = await CONTESTANTS[name]!();
    const input = {
      count: COUNT,
      levels: randomLevels(COUNT),
      given: new Array<unknown>(COUNT).fill(undefined),
    };
    await contestant.run({ ...input, given: [], count: 1000 });
    const before = await usedBytes();
    const queue = await contestant.run(input);
    const bytes = (await usedBytes()) - before;
    keepAlive(queue, input.given);
    return { bytesPerTask: bytes / COUNT };
  },
  report([result]) {
    const { work, figure } = result!;
    const ratio = figure('volley', 'bytesPerTask').median / figure('p-queue', 'bytesPerTask').median;
    const rows = work.contestants.map((name) => [name, withSpread(figure(name, 'bytesPerTask'), '')]);
    return {
      tables: [{ title: work.label, headers: ['contestant', 'bytes per task'], rows }],
      goals: [
        atMost('Memory: a queued task ≤ 1 × that of p-queue', 1, ' ×', [
          { figure: ratio, where: work.label },
        ]),
      ],
    };
  },
};

/** The heap and what it holds outside, when all that was begun has come to rest. */
async function usedBytes(): Promise<number> {
  await new Promise(setImmediate);
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Something that is used later cannot have been collected before. */
function keepAlive(...values: unknown[]): void {
  if (values.includes(undefined)) throw new Error('There is nothing to measure.');
}
