import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { spreadOf } from '../harness/statistics.ts';
import { openRunner } from './runner.ts';

interface SandboxCase extends Case {
  readonly calls: number;
}

const WITH = 'with sandbox';
const WITHOUT = 'without sandbox';
const contestants = [WITHOUT, WITH];
const WARM_UP_CALLS = 5;

function callsOf(calls: number): SandboxCase {
  return { label: `${calls} calls, one after another`, contestants, calls };
}

/** Both have the same limits, in cgroups: what differs is bubblewrap. */
export const sandbox: Scenario<SandboxCase> = {
  name: 'sandbox',
  title: 'One call in a process, with and without the sandbox',
  cases: (isQuick) => [callsOf(isQuick ? 20 : 60)],
  async measure(name, { calls }) {
    const runner = await openRunner(name === WITH ? 'required' : 'off');
    for (let call = 0; call < WARM_UP_CALLS; call++) await runner.call();
    const times: number[] = [];
    for (let call = 0; call < calls; call++) {
      const start = performance.now();
      await runner.call();
      times.push(performance.now() - start);
    }
    await runner.close();
    const { median, min } = spreadOf(times);
    return { medianMs: median, minMs: min };
  },
  report(results) {
    const tables = results.map(({ work, figure }) => ({
      title: work.label,
      headers: ['contestant', 'median in ms', 'fastest in ms'],
      rows: contestants.map((name) => [
        name,
        withSpread(figure(name, 'medianMs'), ''),
        withSpread(figure(name, 'minMs'), ''),
      ]),
    }));
    const findings = results.map(({ work, figure }) => ({
      figure: figure(WITH, 'medianMs').median - figure(WITHOUT, 'medianMs').median,
      where: work.label,
    }));
    return { tables, goals: [atMost('Sandbox: at most 15 ms more for a process', 15, ' ms', findings)] };
  },
};
