import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import { collectGarbage } from '../harness/measure.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { warmUp } from '../harness/warm-up.ts';
import { type ChainContestant, gapFigures, makeChains } from './chains.ts';

interface LatencyCase extends Case {
  readonly chains: number;
  readonly length: number;
}

const CONCURRENCY = 16;
const CONTESTANTS: Readonly<Record<string, () => Promise<{ readonly contestant: ChainContestant }>>> = {
  volley: () => import('./volley.ts'),
  'p-graph': () => import('./p-graph.ts'),
};
const contestants = Object.keys(CONTESTANTS);
const ONE_CHAIN: LatencyCase = { label: 'one chain of 10,000', contestants, chains: 1, length: 10_000 };
const MANY_CHAINS: LatencyCase = {
  label: '16 chains of 1,000 at once',
  contestants,
  chains: 16,
  length: 1000,
};

export const latency: Scenario<LatencyCase> = {
  name: 'latency',
  title: 'From the end of a dependency to the start of its dependent',
  cases: (isQuick) => (isQuick ? [ONE_CHAIN] : [ONE_CHAIN, MANY_CHAINS]),
  async measure(name, { chains, length }) {
    const { contestant } = await CONTESTANTS[name]!();
    const others = makeChains(chains, length, CONCURRENCY);
    await warmUp(() => contestant.run(others));
    const input = makeChains(chains, length, CONCURRENCY);
    collectGarbage();
    await contestant.run(input);
    return gapFigures(input);
  },
  report(results) {
    const tables = results.map(({ work, figure }) => ({
      title: work.label,
      headers: ['contestant', 'p50 in µs', 'p99 in µs'],
      rows: contestants.map((name) => [
        name,
        withSpread(figure(name, 'p50Us'), ''),
        withSpread(figure(name, 'p99Us'), ''),
      ]),
    }));
    const findings = results.map(({ work, figure }) => ({
      figure: figure('volley', 'p50Us').median / figure('p-graph', 'p50Us').median,
      where: work.label,
    }));
    return { tables, goals: [atMost('Latency: p50 ≤ 0.5 × that of p-graph', 0.5, ' ×', findings)] };
  },
};
