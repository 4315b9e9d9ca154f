import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import { collectGarbage } from '../harness/measure.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { warmUp } from '../harness/warm-up.ts';
import { randomLevels } from '../work/priorities.ts';
import type { DrainContestant } from './drain.ts';
import { EventLoopWatch } from './watch.ts';

interface DrainCase extends Case {
  readonly count: number;
}

const OURS = ['volley', 'volley submitAll'];
const CONTESTANTS: Readonly<Record<string, () => Promise<{ readonly contestant: DrainContestant }>>> = {
  volley: () => import('./volley.ts'),
  'volley submitAll': () => import('./volley-group.ts'),
  'p-queue': () => import('./p-queue.ts'),
};
const WARM_UP = 10_000;
const CONCURRENCY = 16;

export const eventLoop: Scenario<DrainCase> = {
  name: 'event-loop',
  title: 'How long a drain holds the event loop',
  cases: (isQuick) => [isQuick ? caseOf(200_000, OURS) : caseOf(1_000_000, Object.keys(CONTESTANTS))],
  async measure(name, { count }) {
    const { contestant } = await CONTESTANTS[name]!();
    const watch = new EventLoopWatch();
    const levels = randomLevels(count);
    const little = { count: WARM_UP, concurrency: CONCURRENCY, levels, submitted() {} };
    await warmUp(() => contestant.run(little));
    collectGarbage();
    await contestant.run({ count, concurrency: CONCURRENCY, levels, submitted: () => watch.start() });
    return watch.stop();
  },
  report([result]) {
    const { work, figure } = result!;
    const rows = work.contestants.map((name) => {
      const delay = figure(name, 'longestDelayMs');
      return [
        name,
        withSpread(figure(name, 'longestGapMs'), ''),
        delay.max === 0 ? 'no sample' : withSpread(delay, ''),
      ];
    });
    // "Never": what counts is the longest of all repeats, not the median.
    const findings = OURS.flatMap((name) => [
      { figure: figure(name, 'longestGapMs').max, where: `${name}, between ticks, longest of all repeats` },
      { figure: figure(name, 'longestDelayMs').max, where: `${name}, loop delay, longest of all repeats` },
    ]);
    const headers = ['contestant', 'longest gap between ticks, ms', 'longest loop delay, ms'];
    return {
      tables: [{ title: work.label, headers, rows }],
      goals: [atMost('Event loop: a drain never holds it longer than 50 ms', 50, ' ms', findings)],
    };
  },
};

function caseOf(count: number, contestants: readonly string[]): DrainCase {
  const label = `${count.toLocaleString('en-US')} no-ops at concurrency ${CONCURRENCY}`;
  return { label, contestants, count };
}
