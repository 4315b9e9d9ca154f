import type { SimulatedExecution } from '../../dist/index.js';
import { short } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { seededRandom } from '../work/random.ts';

/** How the needs of executions compare with a worker. */
type Mix = 'small' | 'mixed' | 'large';

interface QualityCase extends Case {
  readonly machines: number;
  readonly mix: Mix;
  readonly instances: number;
}

interface Task {
  readonly cpu: number;
  readonly memoryMb: number;
  readonly durationMs: number;
}

const RULES = ['spread', 'pack'] as const;
const PLANS = { list: 'off', plan: 'auto' } as const;
type Kind = keyof typeof PLANS;
const KINDS = Object.keys(PLANS) as Kind[];
const CPU = 16;
const MEMORY_MB = 64;
const TASKS_EACH = 20;
const MIXES: readonly Mix[] = ['small', 'mixed', 'large'];

/** How long simulated schedules on several workers are, next to a bound below which no schedule can be. */
export const placementQuality: Scenario<QualityCase> = {
  name: 'placement',
  title: 'Schedules on several workers',
  cases: (isQuick) =>
    [4, 16, 64].flatMap((machines) => MIXES.map((mix) => caseOf(machines, mix, isQuick ? 10 : 40))),
  async measure(placement, { machines, mix, instances }) {
    const { simulate } = await import('../../dist/index.js');
    const workers = Array.from({ length: machines }, (_, index) => ({
      id: `worker-${index}`,
      capacity: { concurrency: 64, cpu: CPU, memoryMb: MEMORY_MB },
    }));
    const random = seededRandom(11);
    const over: Record<Kind, number[]> = { list: [], plan: [] };
    for (let instance = 0; instance < instances; instance++) {
      const tasks = makeTasks(machines * TASKS_EACH, mix, random);
      const bound = lowerBound(tasks, machines);
      const executions = tasks.map(toExecution);
      for (const kind of KINDS) {
        const rule = placement as (typeof RULES)[number];
        const { makespanMs } = simulate(executions, {}, { workers, placement: rule, plan: PLANS[kind] });
        over[kind].push(100 * (makespanMs / bound - 1));
      }
    }
    return Object.fromEntries(
      KINDS.flatMap((kind) => {
        const mean = over[kind].reduce((sum, each) => sum + each, 0) / instances;
        return [
          [`${kind}Mean`, mean],
          [`${kind}Worst`, Math.max(...over[kind])],
        ];
      }),
    );
  },
  report(results) {
    const columns = RULES.flatMap((rule) =>
      KINDS.flatMap((kind) => [
        { rule, title: `${rule}, ${kind}: mean`, name: `${kind}Mean` },
        { rule, title: 'worst', name: `${kind}Worst` },
      ]),
    );
    const rows = results.map(({ work, figure }) => [
      work.label,
      ...columns.map(({ rule, name }) => short(figure(rule, name).median)),
    ]);
    const findings = (kind: Kind) =>
      results.flatMap(({ work, figure }) =>
        RULES.map((rule) => ({
          figure: figure(rule, `${kind}Mean`).median,
          where: `${work.label}, ${rule}`,
        })),
      );
    const longer = results.flatMap(({ work, figure }) =>
      RULES.map((rule) => ({
        figure: figure(rule, 'planMean').median - figure(rule, 'listMean').median,
        where: `${work.label}, ${rule}`,
      })),
    );
    return {
      tables: [
        {
          title: 'List scheduling and plans, % over the lower bound',
          headers: ['instances', ...columns.map(({ title }) => title)],
          rows,
        },
      ],
      goals: [
        atMost('Placement: on several workers at most 30 % over the lower bound', 30, ' %', findings('list')),
        atMost('Placement: plans on several workers are no longer than lists', 0, ' points', longer),
      ],
    };
  },
};

function caseOf(machines: number, mix: Mix, instances: number): QualityCase {
  const label = `${machines} workers, ${machines * TASKS_EACH} ${mix} tasks`;
  return { label, contestants: RULES, machines, mix, instances, maxRepeats: 1 };
}

/** Two resources that do not go together: some need many cores, some much memory. */
function makeTasks(count: number, mix: Mix, random: () => number): Task[] {
  const share = () => {
    if (mix === 'small') return 0.05 + 0.2 * random();
    if (mix === 'large') return 0.2 + 0.6 * random();
    return random() < 0.7 ? 0.05 + 0.2 * random() : 0.3 + 0.6 * random();
  };
  return Array.from({ length: count }, () => ({
    cpu: round(CPU * share()),
    memoryMb: round(MEMORY_MB * share()),
    durationMs: 1000 + Math.floor(9000 * random()),
  }));
}

function round(amount: number): number {
  return Math.max(0.1, Math.round(10 * amount) / 10);
}

function toExecution({ cpu, memoryMb, durationMs }: Task, index: number): SimulatedExecution {
  return {
    toolName: `tool-${index}`,
    durationMs,
    estimatedMs: durationMs,
    timeoutMs: Number.POSITIVE_INFINITY,
    resources: { cpu, memoryMb, io: 'none' },
  };
}

/**
 * The greatest of: the longest task; for each resource, the work over what all workers have; and the same where each task
 * is rounded by a dual-feasible function, which knows that two tasks of more than half a worker share none.
 */
function lowerBound(tasks: readonly Task[], machines: number): number {
  let bound = Math.max(...tasks.map(({ durationMs }) => durationMs));
  const cuts = [0, ...Array.from({ length: 10 }, (_, index) => 0.05 * (index + 1))];
  for (const need of ['cpu', 'memoryMb'] as const) {
    const capacity = need === 'cpu' ? CPU : MEMORY_MB;
    for (const cut of cuts) {
      const weight = (share: number) => (share > 1 - cut ? 1 : share < cut ? 0 : share);
      const work = tasks.reduce((sum, task) => sum + weight(task[need] / capacity) * task.durationMs, 0);
      bound = Math.max(bound, work / machines);
    }
  }
  return bound;
}
