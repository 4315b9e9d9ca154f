import { hasPrograms } from '../batch/servers.ts';
import { short, times, withSpread } from '../harness/format.ts';
import { atLeast, atMost, type Goal } from '../harness/goals.ts';
import { timeMs } from '../harness/measure.ts';
import type { Case, CaseResult, Scenario } from '../harness/scenario.ts';
import { quantile } from '../harness/statistics.ts';
import type { Table } from '../harness/table.ts';
import { warmUp } from '../harness/warm-up.ts';
import type { ClusterContestant } from './contestant.ts';
import { hasDask } from './dask.ts';

interface ClusterCase extends Case {
  readonly concurrency: number;
  readonly count: number;
  /** Measures one call after the other, or what happens to calls that are cancelled or lose their worker. */
  readonly what: 'throughput' | 'steps' | 'faults';
}

const OURS = 'volley';
const RAW = 'BullMQ, one queue';
const DASK = 'dask';
const CONTESTANTS: Readonly<Record<string, () => Promise<{ readonly contestant: ClusterContestant }>>> = {
  [OURS]: () => import('./volley.ts'),
  [RAW]: () => import('./bullmq.ts'),
  [DASK]: () => import('./dask.ts'),
};
const hasRedis = hasPrograms('redis-server');
const contestants = [...(hasRedis ? [OURS, RAW] : []), ...(hasRedis && hasDask ? [DASK] : [])];
const WARM_UP = 500;
const CANCELS = 100;
const HELD_CALLS = 8;

export const cluster: Scenario<ClusterCase> = {
  name: 'cluster',
  title: 'No-ops in two worker processes',
  cases: (isQuick) => {
    if (!hasRedis) return [];
    const count = isQuick ? 10_000 : 100_000;
    return [
      ...[16, 64].map((concurrency): ClusterCase => {
        const label = `${count.toLocaleString('en-US')} calls, ${concurrency} at the same time`;
        return { label, what: 'throughput', concurrency, count, contestants };
      }),
      { label: 'one call after the other', what: 'steps', concurrency: 16, count: 500, contestants },
      {
        label: `${CANCELS} cancelled calls, and a worker that is killed`,
        what: 'faults',
        concurrency: 2 * HELD_CALLS,
        count: 0,
        contestants: [OURS],
        maxRepeats: 3,
      },
    ];
  },
  async measure(name, { concurrency, count, what }) {
    const { contestant } = await CONTESTANTS[name]!();
    try {
      await contestant.prepare(concurrency);
      await warmUp(() => contestant.run(WARM_UP));
      if (what === 'steps') return await steps(contestant, count);
      if (what === 'faults') return await faults(contestant);
      // So many would take dask minutes.
      const calls = name === DASK ? Math.min(count, 10_000) : count;
      const before = (await contestant.serverMb?.()) ?? 0;
      const ms = await timeMs(() => contestant.run(calls));
      const after = (await contestant.serverMb?.()) ?? 0;
      return { perSecond: (calls * 1000) / ms, addedMb: after - before };
    } finally {
      await contestant.close();
    }
  },
  report: (results) => ({ tables: results.map(tableOf), goals: goalsOf(results) }),
};

async function steps(contestant: ClusterContestant, count: number) {
  const spans: number[] = [];
  for (let step = 0; step < count; step++) {
    const start = performance.now();
    await contestant.run(1);
    spans.push(performance.now() - start);
  }
  spans.sort((a, b) => a - b);
  return { p50: quantile(spans, 0.5), p99: quantile(spans, 0.99) };
}

async function faults(contestant: ClusterContestant) {
  const spans: number[] = [];
  for (let call = 0; call < CANCELS; call++) spans.push(await contestant.cancelMs!());
  spans.sort((a, b) => a - b);
  return { cancelP99: quantile(spans, 0.99), restartMs: await contestant.restartMs!(HELD_CALLS) };
}

function tableOf({ work, figure }: CaseResult<ClusterCase>): Table {
  const title = work.label;
  if (work.what === 'faults')
    return {
      title,
      headers: ['contestant', 'cancel to the signal of the tool, p99', 'death to the restart of the calls'],
      rows: [
        [OURS, withSpread(figure(OURS, 'cancelP99'), ' ms'), withSpread(figure(OURS, 'restartMs'), ' ms')],
      ],
    };
  if (work.what === 'steps') {
    const ours = figure(OURS, 'p50').median;
    return {
      title,
      headers: ['contestant', 'step p50', 'p99', 'against ours'],
      rows: work.contestants.map((name) => [
        name,
        withSpread(figure(name, 'p50'), ' ms'),
        withSpread(figure(name, 'p99'), ' ms'),
        times(figure(name, 'p50').median / ours),
      ]),
    };
  }
  const ours = figure(OURS, 'perSecond').median;
  return {
    title,
    headers: ['contestant', 'calls a second', 'volley is so many times as fast', 'memory left on the server'],
    rows: work.contestants.map((name) => [
      name,
      withSpread(figure(name, 'perSecond'), ''),
      times(ours / figure(name, 'perSecond').median),
      name === OURS ? `${short(figure(name, 'addedMb').max)} MB` : '',
    ]),
  };
}

function goalsOf(results: readonly CaseResult<ClusterCase>[]): Goal[] {
  if (results.length === 0) return [];
  const throughput = results.filter(({ work }) => work.what === 'throughput');
  const step = results.find(({ work }) => work.what === 'steps')!;
  const fault = results.find(({ work }) => work.what === 'faults')!;
  const against = (name: string) =>
    throughput.map(({ work, figure }) => ({
      figure: figure(OURS, 'perSecond').median / figure(name, 'perSecond').median,
      where: work.label,
    }));
  const at = (result: CaseResult<ClusterCase>, figure: number) => [{ figure, where: result.work.label }];
  const stepRatio = step.figure(OURS, 'p50').median / step.figure(RAW, 'p50').median;
  const added = throughput.map(({ work, figure }) => ({
    figure: figure(OURS, 'addedMb').max,
    where: work.label,
  }));
  return [
    atLeast('Cluster: throughput ≥ 0.8 × BullMQ', 0.8, ' ×', against(RAW)),
    ...(hasDask ? [atLeast('Cluster: throughput ≥ 3 × dask', 3, ' ×', against(DASK))] : []),
    atMost('Cluster: step p50 ≤ 1.5 × BullMQ', 1.5, ' ×', at(step, stepRatio)),
    atMost('Cluster: cancel p99 ≤ 100 ms', 100, ' ms', at(fault, fault.figure(OURS, 'cancelP99').max)),
    atMost(
      'Cluster: from the death of a worker to the restart of its calls ≤ 10 s',
      10_000,
      ' ms',
      at(fault, fault.figure(OURS, 'restartMs').max),
    ),
    atMost('Cluster: memory left on the server ≤ 10 MB', 10, ' MB', added),
  ];
}
