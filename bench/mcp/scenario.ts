import { times, withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { spreadOf } from '../harness/statistics.ts';
import { warmUp } from '../harness/warm-up.ts';
import { type Calls, inOneBatch, inParallelByHand, oneAfterAnother } from './contestants.ts';

interface McpCase extends Case {
  /** What each call takes in the other server. */
  readonly ms: number;
  readonly rounds: number;
}

const CALLS = 50;
const VOLLEY = 'volley, one batch';
const BY_HAND = 'client, all at once by hand';
const CONTESTANTS: Readonly<Record<string, () => Promise<Calls>>> = {
  [VOLLEY]: inOneBatch,
  'client, one after another': oneAfterAnother,
  [BY_HAND]: inParallelByHand,
};
const contestants = Object.keys(CONTESTANTS);

/** Fifty calls of a tool of another MCP server, over stdio. */
export const mcp: Scenario<McpCase> = {
  name: 'mcp',
  title: 'Calls to another MCP server',
  cases: (isQuick) =>
    [0, 20].map((ms) => ({
      label: `${CALLS} calls, ${ms === 0 ? 'answered at once' : `each takes ${ms} ms`}`,
      contestants,
      ms,
      rounds: isQuick ? 10 : 30,
    })),
  async measure(name, { ms, rounds }) {
    const calls = await CONTESTANTS[name]!();
    await warmUp(() => calls.run(CALLS, ms));
    const taken: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      await calls.run(CALLS, ms);
      taken.push(performance.now() - start);
    }
    await calls.close();
    return { medianMs: spreadOf(taken).median };
  },
  report(results) {
    const overhead = results.map(({ work, figure }) => ({
      figure: (figure(VOLLEY, 'medianMs').median - figure(BY_HAND, 'medianMs').median) / CALLS,
      where: work.label,
    }));
    return {
      tables: results.map(({ work, figure }) => ({
        title: work.label,
        headers: ['contestant', 'milliseconds', 'volley is so many times as fast'],
        rows: contestants.map((name) => {
          const spread = figure(name, 'medianMs');
          return [name, withSpread(spread, ''), times(spread.median / figure(VOLLEY, 'medianMs').median)];
        }),
      })),
      goals: [atMost('MCP: a call in a batch costs ≤ 1 ms more than by hand', 1, ' ms', overhead)],
    };
  },
};
