import { times, withSpread } from '../harness/format.ts';
import { atLeast, type Goal } from '../harness/goals.ts';
import { timeMs } from '../harness/measure.ts';
import type { Case, CaseResult, Scenario } from '../harness/scenario.ts';
import type { Table } from '../harness/table.ts';
import { warmUp } from '../harness/warm-up.ts';
import { type BatchContestant, CONCURRENCY } from './contestant.ts';
import { hasPostgres, hasPrograms } from './servers.ts';

interface BatchCase extends Case {
  readonly count: number;
}

const OURS = 'volley';
const OURS_ON_POSTGRES = 'volley on PostgreSQL';
const IN_MEMORY = 'volley without a store';
const BULLMQ = 'BullMQ on Redis';
const PG_BOSS = 'pg-boss on PostgreSQL';
const CONTESTANTS: Readonly<Record<string, () => Promise<{ readonly contestant: BatchContestant }>>> = {
  [OURS]: () => import('./volley.ts'),
  [OURS_ON_POSTGRES]: () => import('./volley-postgres.ts'),
  [IN_MEMORY]: () => import('./volley-memory.ts'),
  [BULLMQ]: () => import('./bullmq.ts'),
  [PG_BOSS]: () => import('./pg-boss.ts'),
};
const WARM_UP = 500;

/** Contestants whose server is not installed here. */
const missing = [
  ...(hasPrograms('redis-server') ? [] : [BULLMQ]),
  ...(hasPostgres() ? [] : [OURS_ON_POSTGRES, PG_BOSS]),
];

export const batch: Scenario<BatchCase> = {
  name: 'batch',
  title: 'A durable batch of no-ops',
  cases: (isQuick) => (isQuick ? [10_000] : [10_000, 100_000]).map(caseOf),
  async measure(name, { count }) {
    const { contestant } = await CONTESTANTS[name]!();
    try {
      await contestant.prepare();
      await warmUp(() => contestant.run(WARM_UP));
      let cpuMs = 0;
      const ms = await timeMs(async () => {
        const before = process.cpuUsage();
        await contestant.run(count);
        const { user, system } = process.cpuUsage(before);
        cpuMs = (user + system) / 1000;
      });
      return { ms, cpuMs };
    } finally {
      await contestant.close();
    }
  },
  report: (results) => ({ tables: results.map(tableOf), goals: goalsOf(results) }),
};

function caseOf(count: number): BatchCase {
  const label = `${count.toLocaleString('en-US')} tasks, ${CONCURRENCY} at the same time`;
  return { label, count, contestants: Object.keys(CONTESTANTS).filter((name) => !missing.includes(name)) };
}

function tableOf({ work, figure }: CaseResult<BatchCase>): Table {
  const ours = figure(OURS, 'ms').median;
  const rows = work.contestants.map((name) => {
    const spread = figure(name, 'ms');
    const each = (ms: number) => `${((ms * 1000) / work.count).toFixed(1)} µs`;
    const cpu = each(figure(name, 'cpuMs').median);
    return [name, withSpread(spread, ' ms'), each(spread.median), cpu, times(spread.median / ours)];
  });
  return {
    title: work.label,
    headers: ['contestant', 'from adding to results', 'for each task', 'CPU of this process', 'against ours'],
    rows: [...rows, ...missing.map((name) => [name, 'its server is not installed here', '', '', ''])],
  };
}

function goalsOf(results: readonly CaseResult<BatchCase>[]): Goal[] {
  const against = (name: string, ours = OURS) =>
    results.map(({ work, figure }) => ({
      figure: figure(name, 'ms').median / figure(ours, 'ms').median,
      where: work.label,
    }));
  const goals: Goal[] = [];
  if (!missing.includes(BULLMQ))
    goals.push(atLeast('Durable batch: ≥ 5 × BullMQ on Redis', 5, ' ×', against(BULLMQ)));
  if (!missing.includes(PG_BOSS))
    goals.push(
      atLeast('Durable batch: ≥ 10 × pg-boss on PostgreSQL', 10, ' ×', against(PG_BOSS)),
      atLeast(
        'Durable batch on PostgreSQL: ≥ 5 × pg-boss on the same server',
        5,
        ' ×',
        against(PG_BOSS, OURS_ON_POSTGRES),
      ),
    );
  goals.push(atLeast('Durable batch: ≥ 0.3 × the same calls without a store', 0.3, ' ×', against(IN_MEMORY)));
  return goals;
}
