import { times, withSpread } from '../harness/format.ts';
import { atMost, type Finding, type Goal } from '../harness/goals.ts';
import type { Case, CaseResult, Scenario } from '../harness/scenario.ts';
import type { Table } from '../harness/table.ts';
import { absentPeers, CLI_PROGRAMS, NODE, OFF, SANDBOXED } from './programs.ts';
import { runTimed } from './run-timed.ts';

interface CliCase extends Case {
  readonly count: number;
}

const CONCURRENCY = 8;
const PEERS = ['GNU parallel -j', 'xargs -P', 'make -j', 'ninja -j', 'wireit'];

/** What a user measures who types the command: the start of the program and its store are included. */
export const cli: Scenario<CliCase> = {
  name: 'cli',
  title: 'The command line: true again and again',
  cases: () => [
    caseOf(1, [SANDBOXED, OFF, NODE]),
    caseOf(200, [SANDBOXED, OFF, ...PEERS]),
    caseOf(2000, [OFF, ...PEERS.filter((name) => name !== 'wireit')]),
  ],
  async measure(name, { count }) {
    return runTimed(CLI_PROGRAMS.get(name)!, { count, concurrency: CONCURRENCY });
  },
  report(results) {
    const [one, some, many] = results as [CaseResult<CliCase>, CaseResult<CliCase>, CaseResult<CliCase>];
    const ratio = ({ work, figure }: CaseResult<CliCase>, ours: string, peer: string): Finding[] =>
      work.contestants.includes(peer)
        ? [{ figure: figure(ours, 'ms').median / figure(peer, 'ms').median, where: work.label }]
        : [];
    const goals: Goal[] = [];
    const add = (text: string, bound: number, findings: readonly Finding[]) => {
      if (findings.length > 0) goals.push(atMost(text, bound, ' ×', findings));
    };
    add('Command line: one task ≤ 3.5 × node -e 0', 3.5, ratio(one, OFF, NODE));
    add('Command line: in the sandbox ≤ GNU parallel without one', 1, ratio(some, SANDBOXED, PEERS[0]!));
    add('Command line: without the sandbox ≤ 1.5 × xargs', 1.5, ratio(many, OFF, PEERS[1]!));
    return { tables: results.map(tableOf), goals };
  },
};

function caseOf(count: number, contestants: readonly string[]): CliCase {
  const label = count === 1 ? 'one task' : `${count} tasks, ${CONCURRENCY} at the same time`;
  return { label, contestants: contestants.filter((name) => CLI_PROGRAMS.has(name)), count };
}

function tableOf({ work, figure }: CaseResult<CliCase>): Table {
  const ours = figure(OFF, 'ms').median;
  const rows = work.contestants.map((name) => [
    name,
    withSpread(figure(name, 'ms'), ' ms'),
    withSpread(figure(name, 'cpuMs'), ' ms'),
    times(figure(name, 'ms').median / ours),
  ]);
  const absent =
    work.count === 1 ? [] : absentPeers(PEERS).map((name) => [name, 'not installed here', '', '']);
  return {
    title: work.label,
    headers: ['contestant', 'time', 'CPU time of all its processes', 'against ours without the sandbox'],
    rows: [...rows, ...absent],
  };
}
