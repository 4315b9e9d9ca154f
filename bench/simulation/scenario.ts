import { withSpread } from '../harness/format.ts';
import { atLeast, atMost } from '../harness/goals.ts';
import { collectGarbage } from '../harness/measure.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { warmUp } from '../harness/warm-up.ts';

interface SimulationCase extends Case {
  readonly count: number;
}

const WARM_UP = 10_000;
const MILLION = 1_000_000;
const GRAPH = '3 random dependencies each';

export const simulation: Scenario<SimulationCase> = {
  name: 'simulation',
  title: 'The core alone, in simulation',
  cases: (isQuick) => [caseOf(isQuick ? 300_000 : MILLION)],
  async measure(kind, { count }) {
    const { simulate } = await import('../../dist/index.js');
    const { LIMITS, makeExecutions } = await import('./executions.ts');
    const little = makeExecutions(WARM_UP, kind === GRAPH);
    await warmUp(async () => simulate(little, LIMITS, { seed: 1 }));
    const executions = makeExecutions(count, kind === GRAPH);
    collectGarbage();
    const start = performance.now();
    const { statuses } = simulate(executions, LIMITS, { seed: 1 });
    const seconds = (performance.now() - start) / 1000;
    if (statuses.some((status) => status !== 'completed'))
      throw new Error('Some executions did not complete.');
    // Node gives it in kilobytes. It is the peak of the whole process, the list of executions included.
    const peakMb = process.resourceUsage().maxRSS / 1024;
    return { perSecond: count / seconds, peakMb };
  },
  report([result]) {
    const { work, figure } = result!;
    const rows = work.contestants.map((kind) => [
      kind,
      withSpread(figure(kind, 'perSecond'), ''),
      withSpread(figure(kind, 'peakMb'), ''),
    ]);
    const rates = work.contestants.map((where) => ({ figure: figure(where, 'perSecond').median, where }));
    const peaks = work.contestants.map((where) => ({ figure: figure(where, 'peakMb').max, where }));
    const headers = ['executions', 'for each second of real time', 'peak memory, MB'];
    return {
      tables: [{ title: work.label, headers, rows }],
      goals: [
        atLeast('Simulation: ≥ 300,000 executions for each second', 300_000, '/s', rates),
        ...(work.count === MILLION
          ? [atMost('Simulation: a million executions fit in 4 GB', 4096, ' MB', peaks)]
          : []),
      ],
    };
  },
};

function caseOf(count: number): SimulationCase {
  const label = `${count.toLocaleString('en-US')} executions, limits 1,000 × this machine's`;
  return { label, contestants: ['independent', GRAPH], count };
}
