import { times, withSpread } from '../harness/format.ts';
import { atLeast, atMost } from '../harness/goals.ts';
import { timeMs } from '../harness/measure.ts';
import type { Case, CaseResult, Report, Scenario } from '../harness/scenario.ts';
import { warmUp } from '../harness/warm-up.ts';
import { THREADS, type ThreadCalls, type ThreadContestant, threadCalls } from './input.ts';

interface ThreadCase extends Case {
  readonly count: number;
  readonly work: ThreadCalls['work'];
  /** What it would take if nothing but the work took time. */
  readonly idealMs: number;
}

const CONTESTANTS: Readonly<Record<string, () => Promise<{ readonly contestant: ThreadContestant }>>> = {
  volley: () => import('./volley.ts'),
  piscina: () => import('./piscina.ts'),
  tinypool: () => import('./tinypool.ts'),
  workerpool: () => import('./workerpool.ts'),
};
const contestants = Object.keys(CONTESTANTS);
const NO_OPS: ThreadCase = {
  label: `10,000 no-ops on ${THREADS} threads`,
  contestants,
  count: 10_000,
  work: 'noOp',
  idealMs: 0,
};
const SPINS: ThreadCase = {
  label: `1,000 × 1 ms of CPU on ${THREADS} threads`,
  contestants,
  count: 1000,
  work: 'spin',
  idealMs: 1000 / THREADS,
};

export const threads: Scenario<ThreadCase> = {
  name: 'threads',
  title: 'Calls in threads',
  cases: () => [NO_OPS, SPINS],
  async measure(name, { count, work }) {
    const { contestant } = await CONTESTANTS[name]!();
    const little = threadCalls(count / 10, work);
    await warmUp(() => contestant.run(little));
    const input = threadCalls(count, work);
    return { ms: await timeMs(() => contestant.run(input)) };
  },
  report(results) {
    const [noOps, spins] = results as [CaseResult<ThreadCase>, CaseResult<ThreadCase>];
    const ratio = noOps.figure('piscina', 'ms').median / noOps.figure('volley', 'ms').median;
    const share = spins.figure('volley', 'ms').median / SPINS.idealMs;
    return {
      tables: results.map(tableOf),
      goals: [
        atLeast('Threads: no-ops of volley ≥ 5 × piscina', 5, ' ×', [{ figure: ratio, where: NO_OPS.label }]),
        atMost('Threads: 1 ms of CPU, time of volley ≤ 1.15 × ideal', 1.15, ' ×', [
          { figure: share, where: SPINS.label },
        ]),
      ],
    };
  },
};

function tableOf({ work, figure }: CaseResult<ThreadCase>): Report['tables'][number] {
  const ours = figure('volley', 'ms').median;
  return {
    title: work.label,
    headers: ['contestant', 'milliseconds', 'volley is so many times as fast', 'times the ideal'],
    rows: contestants.map((name) => {
      const spread = figure(name, 'ms');
      const share = work.idealMs === 0 ? '' : times(spread.median / work.idealMs);
      return [name, withSpread(spread, ''), times(spread.median / ours), share];
    }),
  };
}
