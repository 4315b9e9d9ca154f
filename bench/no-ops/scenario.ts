import { timeMs } from '../harness/measure.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { warmUp } from '../harness/warm-up.ts';
import { CONTESTANTS } from './contestants.ts';
import { noOpsOf } from './input.ts';
import { RATIOS, reportNoOps } from './report.ts';

export interface NoOpCase extends Case {
  readonly count: number;
  readonly concurrency: number;
}

const ALL = Object.keys(CONTESTANTS);
/** Those that a goal speaks of. */
const DECISIVE = ALL.filter((name) => RATIOS.some(({ ours, peer }) => name === ours || name === peer));
const WARM_UP = 20_000;
/** Beyond this p-queue with priorities, which inserts in linear time, would take many minutes. */
const MAX_WITH_LINEAR_INSERTS = 100_000;

export const noOps: Scenario<NoOpCase> = {
  name: 'no-ops',
  title: 'No-op tasks',
  cases(isQuick) {
    if (isQuick) return [caseOf(100_000, 16, DECISIVE)];
    return [100_000, 1_000_000].flatMap((count) =>
      [1, 16, 100, 1000].map((concurrency) => caseOf(count, concurrency, ALL)),
    );
  },
  async measure(name, { count, concurrency }) {
    const { contestant } = await CONTESTANTS[name]!();
    const little = noOpsOf(WARM_UP, concurrency);
    await warmUp(() => contestant.run(little));
    const input = noOpsOf(count, concurrency);
    return { ms: await timeMs(() => contestant.run(input)) };
  },
  report: reportNoOps,
};

function caseOf(count: number, concurrency: number, names: readonly string[]): NoOpCase {
  const contestants = names.filter(
    (name) => name !== 'p-queue priorities' || count <= MAX_WITH_LINEAR_INSERTS,
  );
  const label = `${count.toLocaleString('en-US')} at concurrency ${concurrency}`;
  return { label, contestants, count, concurrency };
}
