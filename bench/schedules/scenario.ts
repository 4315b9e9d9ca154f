import { short } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Case, CaseResult, Report, Scenario } from '../harness/scenario.ts';
import { seededRandom } from '../work/random.ts';
import { type Family, type Instance, lowerBound, makeProvenInstances } from './instances.ts';

interface ScheduleCase extends Case {
  readonly family: Family;
  readonly size: number;
  readonly count: number;
}

/** How long a unit of time is, and the spread of the real durations around the estimates (of their logarithms). */
interface Setting {
  readonly unitMs: number;
  readonly sigma: number;
}

const LIST = 'list';
const PLAN = 'plan';
const SETTINGS: readonly Setting[] = [
  ...[1, 1000, 10_000].map((unitMs) => ({ unitMs, sigma: 0 })),
  ...[0.1, 0.3, 0.6].map((sigma) => ({ unitMs: 1000, sigma })),
];
const EXACT = SETTINGS.filter(({ sigma }) => sigma === 0);
/** How much longer schedules may be in units of 10 s than in units of 1 ms, where nothing is ever reserved. */
const MAX_LOSS = 0.5;
/** How far planned schedules of projects may be above the optimum on average, by the number of tasks. */
const MAX_OVER = new Map([
  [30, 0.5],
  [60, 0.8],
  [120, 1.5],
]);
/** How often durations are drawn for an instance: single draws differ by more than plans and lists. */
const DRAWS = 4;
/** The spread at which plans must still be no worse than list scheduling, on average over all cases. */
const MODEST_SPREAD = SETTINGS.find(({ sigma }) => sigma === 0.3)!;

export const schedules: Scenario<ScheduleCase> = {
  name: 'schedules',
  title: 'Schedules',
  cases(isQuick) {
    const count = (full: number) => (isQuick ? Math.ceil(full / 4) : full);
    return [
      caseOf('projects', 30, count(48)),
      caseOf('projects', 60, count(48)),
      caseOf('projects', 120, count(48)),
      caseOf('tiled projects', 30, count(48)),
      caseOf('tiled projects', 60, count(48)),
      caseOf('tiled projects', 120, count(24)),
      caseOf('graphs', 100, count(48)),
      caseOf('workflows', 100, count(48)),
      caseOf('tiled projects', 600, count(12)),
      caseOf('workflows', 600, count(12)),
    ];
  },
  async measure(contestant, { family, size, count }) {
    const { simulate } = await import('../../dist/index.js');
    const { toExecutions, toLimits } = await import('./executions.ts');
    const instances = makeProvenInstances(family, size, count);
    const run = (instance: Instance, unitMs: number, durations?: readonly number[]): number => {
      const executions = toExecutions(instance, unitMs, durations);
      const options = { plan: contestant === PLAN ? 'auto' : 'off' } as const;
      return simulate(executions, toLimits(instance), options).makespanMs / unitMs;
    };
    for (const instance of instances.slice(0, 8)) run(instance, 1);
    const figures: Record<string, number> = {};
    let runs = 0;
    const begin = process.cpuUsage();
    for (const setting of SETTINGS) {
      const { unitMs, sigma } = setting;
      const random = seededRandom(7);
      const over = instances.flatMap((instance) => {
        if (sigma === 0) return percentOver(run(instance, unitMs), instance.bound);
        return Array.from({ length: DRAWS }, () => {
          const real = drawDurations(instance, sigma, unitMs, random);
          return percentOver(run(instance, unitMs, real), boundOf(instance, real));
        });
      });
      runs += over.length;
      figures[meanOf(setting)] = over.reduce((sum, each) => sum + each, 0) / over.length;
      figures[worstOf(setting)] = Math.max(...over);
    }
    const { user, system } = process.cpuUsage(begin);
    return { ...figures, cpuMs: (user + system) / 1000 / runs };
  },
  report(results) {
    const losses = results.map((result) => {
      const { median: slow } = result.figure(LIST, meanOf(SETTINGS[2]!));
      return { figure: slow - result.figure(LIST, meanOf(SETTINGS[0]!)).median, where: result.work.label };
    });
    const goal = `Schedules: in units of 10 s at most ${MAX_LOSS} points longer than in units of 1 ms`;
    const meanOver = (contestant: string) =>
      results.reduce((sum, { figure }) => sum + figure(contestant, meanOf(MODEST_SPREAD)).median, 0) /
      results.length;
    const gain = { figure: meanOver(PLAN) - meanOver(LIST), where: `mean of ${results.length} cases` };
    const ofProjects = [...MAX_OVER].map(([size, most]) => {
      const of = results.filter(({ work }) => work.family === 'projects' && work.size === size);
      const findings = of.flatMap(({ work, figure }) =>
        EXACT.map((setting) => ({
          figure: figure(PLAN, meanOf(setting)).median,
          where: `${work.label}, ${nameOf(setting)}`,
        })),
      );
      return atMost(
        `Schedules: planned projects of ${size} tasks at most ${most} % over the optimum`,
        most,
        ' %',
        findings,
      );
    });
    return {
      tables: results.map(tableOf),
      goals: [
        atMost(goal, MAX_LOSS, ' points', losses),
        ...ofProjects,
        atMost('Schedules: with a spread of 0.3 plans are no longer than lists', 0, ' points', [gain]),
      ],
    };
  },
};

function caseOf(family: Family, size: number, count: number): ScheduleCase {
  const label = `${makeProvenInstances(family, size, count).length} ${family} of ${size} tasks`;
  return { label, contestants: [LIST, PLAN], family, size, count };
}

function tableOf({ work, figure }: CaseResult<ScheduleCase>): Report['tables'][number] {
  const rows = SETTINGS.map((setting) => [
    nameOf(setting),
    ...work.contestants.flatMap((name) => [
      short(figure(name, meanOf(setting)).median),
      short(figure(name, worstOf(setting)).median),
    ]),
  ]);
  const cpu = work.contestants.flatMap((name) => [short(figure(name, 'cpuMs').median), '']);
  const hasOptimum = work.family === 'tiled projects' || work.family === 'projects';
  const over = hasOptimum ? 'the optimum (with a spread: the bound)' : 'the lower bound';
  return {
    title: `${work.label}, % over ${over}`,
    headers: ['unit, durations', ...work.contestants.flatMap((name) => [`${name}: mean`, 'worst'])],
    rows: [...rows, ['CPU for an instance, ms', ...cpu]],
  };
}

function nameOf({ unitMs, sigma }: Setting): string {
  return sigma === 0 ? `${unitMs} ms, exact` : `${unitMs} ms, σ ${sigma}`;
}

function meanOf({ unitMs, sigma }: Setting): string {
  return `mean ${unitMs} ${sigma}`;
}

function worstOf({ unitMs, sigma }: Setting): string {
  return `worst ${unitMs} ${sigma}`;
}

function percentOver(makespan: number, bound: number): number {
  return 100 * (makespan / bound - 1);
}

/** Lognormal around the estimates, in whole milliseconds. */
function drawDurations({ tasks }: Instance, sigma: number, unitMs: number, random: () => number): number[] {
  return tasks.map(({ duration }) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const ms = duration * unitMs * Math.exp(sigma * normal - sigma ** 2 / 2);
    return Math.max(1, Math.round(ms)) / unitMs;
  });
}

/** The bound for other durations than those of the instance, whose optimum is not known then. */
function boundOf(instance: Instance, durations: readonly number[]): number {
  const tasks = instance.tasks.map((task, index) => ({ ...task, duration: durations[index]! }));
  return lowerBound({ ...instance, tasks });
}
