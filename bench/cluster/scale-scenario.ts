import type { SimulatedExecution, SimulationOptions } from '../../dist/index.js';
import { withSpread } from '../harness/format.ts';
import { atLeast, atMost } from '../harness/goals.ts';
import { collectGarbage } from '../harness/measure.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { seededRandom } from '../work/random.ts';

interface ScaleCase extends Case {
  readonly workers: number;
  readonly count: number;
}

const RULES = ['spread', 'pack'] as const;
const SLOTS = 16;
const TOOLS = 10;
const WARM_UP = 5000;
const MILLION = 1_000_000;
const SIZES = [10, 100, 1000];

/** The core of a coordinator with many workers: how many starts and ends it decides for each second of CPU time. */
export const clusterScale: Scenario<ScaleCase> = {
  name: 'cluster-scale',
  title: 'Placement on 10 to 1,000 workers, in simulation',
  cases: (isQuick) => SIZES.map((workers) => caseOf(workers, isQuick ? MILLION / 10 : MILLION)),
  async measure(placement, { workers, count }) {
    const { simulate } = await import('../../dist/index.js');
    const options = (size: number): SimulationOptions => ({
      workers: makeWorkers(size),
      placement: placement as (typeof RULES)[number],
    });
    for (let round = 0; round < 4; round++) simulate(makeExecutions(WARM_UP), {}, options(10));
    const executions = makeExecutions(count);
    collectGarbage();
    const begin = process.cpuUsage();
    const { statuses } = simulate(executions, {}, options(workers));
    const { user, system } = process.cpuUsage(begin);
    if (statuses.some((status) => status !== 'completed'))
      throw new Error('Some executions did not complete.');
    const peakMb = process.resourceUsage().maxRSS / 1024;
    return { perSecond: count / ((user + system) / 1e6), peakMb };
  },
  report(results) {
    const rows = results.flatMap(({ work, figure }) =>
      RULES.map((rule) => [
        work.workers.toLocaleString('en-US'),
        rule,
        withSpread(figure(rule, 'perSecond'), ''),
        withSpread(figure(rule, 'peakMb'), ''),
      ]),
    );
    const rateOf = (at: number, rule: string) => results.at(at)!.figure(rule, 'perSecond').median;
    const growth = RULES.map((rule) => ({ figure: rateOf(0, rule) / rateOf(-1, rule), where: rule }));
    const rates = RULES.map((rule) => ({ figure: rateOf(-1, rule), where: rule }));
    const peaks = RULES.map((rule) => ({ figure: results.at(-1)!.figure(rule, 'peakMb').max, where: rule }));
    const { count } = results[0]!.work;
    return {
      tables: [
        {
          title: `${count.toLocaleString('en-US')} executions of ${TOOLS} tools, workers with ${SLOTS} slots`,
          headers: ['workers', 'rule', 'executions for each second of CPU time', 'peak memory, MB'],
          rows,
        },
      ],
      goals: [
        atLeast('Placement: ≥ 50,000 executions for each second on 1,000 workers', 50_000, '/s', rates),
        atMost(
          'Placement: an execution costs at most 2 × as much on 1,000 workers as on 10',
          2,
          ' ×',
          growth,
        ),
        ...(count === MILLION
          ? [atMost('Placement: 1,000 workers and a million executions fit in 4 GB', 4096, ' MB', peaks)]
          : []),
      ],
    };
  },
};

function caseOf(workers: number, count: number): ScaleCase {
  const label = `${count.toLocaleString('en-US')} executions on ${workers.toLocaleString('en-US')} workers`;
  return { label, contestants: RULES, workers, count, maxRepeats: 3 };
}

function makeWorkers(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `worker-${index}`,
    capacity: { concurrency: SLOTS, cpu: 16, memoryMb: 64_000, ioOperations: 64, networkOperations: 64 },
    labels: { worker: `worker-${index}` },
  }));
}

/** From 10 ms to 1 s. What the tools need is different, so that workers fill up differently. */
function makeExecutions(count: number): SimulatedExecution[] {
  const random = seededRandom(5);
  return Array.from({ length: count }, (_, index) => ({
    id: `execution-${index}`,
    toolName: `tool-${index % TOOLS}`,
    resources: { cpu: 1 - (index % TOOLS) * 0.04, memoryMb: 1000 + 300 * (index % TOOLS) },
    durationMs: 10 + Math.floor(random() * 990),
  }));
}
