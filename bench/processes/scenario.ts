import { monitorEventLoopDelay } from 'node:perf_hooks';
import { times, withSpread } from '../harness/format.ts';
import { atLeast, atMost, type Goal } from '../harness/goals.ts';
import { timeMs } from '../harness/measure.ts';
import type { Case, CaseResult, Scenario } from '../harness/scenario.ts';
import type { Table } from '../harness/table.ts';
import type { ProcessContestant } from './contestant.ts';
import { findPrograms } from './programs.ts';

interface ProcessCase extends Case {
  readonly count: number;
  /** How much memory this process holds meanwhile. */
  readonly heldMb: number;
}

const OURS = 'volley shell';
const SPAWN = "Node's spawn";
const OWN: Readonly<Record<string, () => Promise<{ readonly contestant: ProcessContestant }>>> = {
  [OURS]: () => import('./volley.ts'),
  [SPAWN]: () => import('./node-spawn.ts'),
};
const CONCURRENCY = 8;
const HELD_MB = 500;
const { present, missing } = findPrograms();

export const processes: Scenario<ProcessCase> = {
  name: 'processes',
  title: 'Running /bin/true again and again',
  cases: (isQuick) => [
    caseOf(isQuick ? 500 : 1000, 0, [OURS, ...present.keys(), SPAWN]),
    caseOf(isQuick ? 100 : 300, HELD_MB, [OURS, SPAWN]),
  ],
  async measure(name, { count, heldMb }) {
    const contestant = present.get(name) ?? (await OWN[name]!()).contestant;
    const work = { count, concurrency: CONCURRENCY };
    await contestant.prepare(work);
    // Filled, or the kernel would only promise it.
    const held = Buffer.alloc(heldMb * 2 ** 20, 1);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const ms = await timeMs(() => {
      // Watching costs time, so it is done only where it is asked for.
      if (heldMb > 0) delay.enable();
      return contestant.run(work);
    });
    delay.disable();
    await contestant.close();
    return { ms, p99DelayMs: delay.percentile(99) / 1e6, heldMb: held.length / 2 ** 20 };
  },
  report(results) {
    const [small, large] = results as [CaseResult<ProcessCase>, CaseResult<ProcessCase>];
    return { tables: results.map(tableOf), goals: [...goalsOf(small), ...goalsWithMemory(large)] };
  },
};

function caseOf(count: number, heldMb: number, contestants: readonly string[]): ProcessCase {
  const memory = heldMb === 0 ? '' : `, with ${heldMb} MB held by the parent`;
  return {
    label: `${count} processes, ${CONCURRENCY} at the same time${memory}`,
    contestants,
    count,
    heldMb,
  };
}

function tableOf({ work, figure }: CaseResult<ProcessCase>): Table {
  const ours = figure(OURS, 'ms').median;
  const rows = work.contestants.map((name) => [
    name,
    withSpread(figure(name, 'ms'), ' ms'),
    times(figure(name, 'ms').median / ours),
    work.heldMb > 0 ? withSpread(figure(name, 'p99DelayMs'), ' ms') : '',
  ]);
  const absent = work.heldMb === 0 ? missing.map((name) => [name, 'not installed here', '', '']) : [];
  return {
    title: work.label,
    headers: ['contestant', 'time', 'against ours', 'p99 delay of the event loop'],
    rows: [...rows, ...absent],
  };
}

function goalsOf({ work, figure }: CaseResult<ProcessCase>): Goal[] {
  const ours = figure(OURS, 'ms').median;
  const ratio = (name: string) => ({ figure: figure(name, 'ms').median / ours, where: work.label });
  const goals: Goal[] = [];
  if (present.has('GNU parallel -j')) {
    const text = 'Processes: the shell tool ≥ 4 × GNU parallel';
    goals.push(atLeast(text, 4, ' ×', [ratio('GNU parallel -j')]));
  }
  if (present.has('ninja -j')) {
    goals.push(atLeast('Processes: the shell tool ≥ 1 × ninja', 1, ' ×', [ratio('ninja -j')]));
  }
  return goals;
}

function goalsWithMemory({ work, figure }: CaseResult<ProcessCase>): Goal[] {
  const where = work.label;
  const ratio = figure(SPAWN, 'ms').median / figure(OURS, 'ms').median;
  const delay = figure(OURS, 'p99DelayMs').median;
  return [
    atLeast("Processes from a large parent: ≥ 10 × Node's spawn", 10, ' ×', [{ figure: ratio, where }]),
    atMost('Processes from a large parent: p99 delay of the event loop ≤ 10 ms', 10, ' ms', [
      { figure: delay, where },
    ]),
  ];
}
