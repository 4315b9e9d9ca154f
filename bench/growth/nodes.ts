import { randomGraph } from '../graph/random-graph.ts';
import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import { timeMs } from '../harness/measure.ts';
import type { Scenario } from '../harness/scenario.ts';
import { warmUp } from '../harness/warm-up.ts';

const DEPENDENCIES = 3;
const CONCURRENCY = 16;

/** The sizes are the contestants. A small graph is run several times, or the clock would be too coarse. */
const SIZES: Readonly<Record<string, { readonly nodes: number; readonly rounds: number }>> = {
  '10,000 nodes': { nodes: 10_000, rounds: 10 },
  '100,000 nodes': { nodes: 100_000, rounds: 1 },
  '1,000,000 nodes': { nodes: 1_000_000, rounds: 1 },
};
const SMALL = '10,000 nodes';

export const nodeGrowth: Scenario = {
  name: 'growth-nodes',
  title: 'Growth: the cost of a node in a large graph',
  cases: (isQuick) => [
    {
      label: `${DEPENDENCIES} random dependencies each`,
      contestants: [SMALL, isQuick ? '100,000 nodes' : '1,000,000 nodes'],
    },
  ],
  async measure(size) {
    const { contestant } = await import('../graph/volley.ts');
    const { nodes, rounds } = SIZES[size]!;
    const little = randomGraph(SIZES[SMALL]!.nodes, DEPENDENCIES, CONCURRENCY);
    await warmUp(() => contestant.run(little));
    const input = randomGraph(nodes, DEPENDENCIES, CONCURRENCY);
    const ms = await timeMs(async () => {
      for (let round = 0; round < rounds; round++) await contestant.run(input);
    });
    return { nsPerNode: (ms * 1e6) / (nodes * rounds) };
  },
  report([result]) {
    const { work, figure } = result!;
    const [small, large] = work.contestants as [string, string];
    const ratio = figure(large, 'nsPerNode').median / figure(small, 'nsPerNode').median;
    const rows = work.contestants.map((size) => [size, withSpread(figure(size, 'nsPerNode'), '')]);
    return {
      tables: [{ title: `volley submitAll, ${work.label}`, headers: ['graph', 'ns per node'], rows }],
      goals: [
        atMost('Growth: cost of a node in a graph of 1,000,000 ≤ 4 × that of 10,000', 4, ' ×', [
          { figure: ratio, where: `${large} against ${small}` },
        ]),
      ],
    };
  },
};
