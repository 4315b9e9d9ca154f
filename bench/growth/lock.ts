import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Scenario } from '../harness/scenario.ts';
import { spreadOf } from '../harness/statistics.ts';

const WARM_UP_STEPS = 100_000;
const STEPS = 20_000;
/** So many times; the median counts, for collections of garbage come at their own times. */
const ROUNDS = 5;

/** The two lengths of the queue are the contestants. */
const WAITING: Readonly<Record<string, number>> = { '100 waiting': 100, '100,000 waiting': 100_000 };
const [FEW, MANY] = Object.keys(WAITING) as [string, string];

export const lockGrowth: Scenario = {
  name: 'growth-lock',
  title: 'Growth: the cost of a task with many waiting behind the same lock',
  cases: () => [{ label: `${ROUNDS} × ${STEPS.toLocaleString('en-US')} steps`, contestants: [FEW, MANY] }],
  async measure(name) {
    const { LockQueue } = await import('./lock-queue.ts');
    const queue = new LockQueue(WAITING[name]!);
    await queue.steps(WARM_UP_STEPS);
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await queue.steps(STEPS));
    return { nsPerStep: spreadOf(rounds).median };
  },
  report([result]) {
    const { work, figure } = result!;
    const ratio = figure(MANY, 'nsPerStep').median / figure(FEW, 'nsPerStep').median;
    const rows = work.contestants.map((name) => [name, withSpread(figure(name, 'nsPerStep'), '')]);
    return {
      tables: [
        {
          title: 'One task ends and gives the lock back, the next one starts, another is submitted',
          headers: ['queue', 'ns per step'],
          rows,
        },
      ],
      goals: [
        atMost('Growth: cost of a task with 100,000 behind a lock ≤ 1.5 × that with 100', 1.5, ' ×', [
          { figure: ratio, where: `${MANY} against ${FEW}` },
        ]),
      ],
    };
  },
};
