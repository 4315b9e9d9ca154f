import { times, withSpread } from '../harness/format.ts';
import { atLeast, atMost } from '../harness/goals.ts';
import { timeMs } from '../harness/measure.ts';
import type { Case, CaseResult, Report, Scenario } from '../harness/scenario.ts';
import { warmUp } from '../harness/warm-up.ts';
import { CONTESTANTS } from './contestants.ts';
import { randomGraph } from './random-graph.ts';

interface GraphCase extends Case {
  readonly nodes: number;
  readonly perNode: number;
  readonly concurrency: number;
}

const OURS = 'volley submitAll';
const LIMIT = 'hand-written Kahn loop';
const WARM_UP = 5000;
const LARGE = 100_000;
/** async.auto looks at all nodes for each node, so it is compared on a smaller graph only. */
const SMALL = 2000;

export const graph: Scenario<GraphCase> = {
  name: 'graph',
  title: 'Graphs',
  cases(isQuick) {
    const large = caseOf(LARGE, [LIMIT, OURS, 'p-graph']);
    return isQuick ? [large] : [large, caseOf(SMALL, [LIMIT, OURS, 'p-graph', 'async.auto'])];
  },
  async measure(name, { nodes, perNode, concurrency }) {
    const { contestant } = await CONTESTANTS[name]!();
    const little = randomGraph(Math.min(nodes, WARM_UP), perNode, concurrency);
    await warmUp(() => contestant.run(little));
    const input = randomGraph(nodes, perNode, concurrency);
    return { ms: await timeMs(() => contestant.run(input)) };
  },
  report(results) {
    const large = results.find(({ work }) => work.nodes === LARGE)!;
    const where = large.work.label;
    return {
      tables: results.map(tableOf),
      goals: [
        atLeast('Graph: volley ≥ 8 × p-graph', 8, ' ×', [{ figure: ratioOf(large, OURS, 'p-graph'), where }]),
        atMost('Graph: time of volley ≤ 7 × that of the Kahn loop', 7, ' ×', [
          { figure: ratioOf(large, LIMIT, OURS), where },
        ]),
      ],
    };
  },
};

function caseOf(nodes: number, contestants: readonly string[]): GraphCase {
  const label = `${nodes.toLocaleString('en-US')} nodes, 3 random dependencies each`;
  return { label, contestants, nodes, perNode: 3, concurrency: 16 };
}

function tableOf(result: CaseResult<GraphCase>): Report['tables'][number] {
  return {
    title: result.work.label,
    headers: ['contestant', 'milliseconds', 'volley is so many times as fast'],
    rows: result.work.contestants.map((name) => [
      name,
      withSpread(result.figure(name, 'ms'), ''),
      times(ratioOf(result, OURS, name)),
    ]),
  };
}

/** How many times as long as the first the second takes. */
function ratioOf(result: CaseResult<GraphCase>, first: string, second: string): number {
  return result.figure(second, 'ms').median / result.figure(first, 'ms').median;
}
