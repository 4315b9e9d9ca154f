import { times, withSpread } from '../harness/format.ts';
import { atLeast, type Goal, verdict } from '../harness/goals.ts';
import type { CaseResult, Report } from '../harness/scenario.ts';
import type { Table } from '../harness/table.ts';
import { CONTESTANTS } from './contestants.ts';
import type { NoOpCase } from './scenario.ts';

type Result = CaseResult<NoOpCase>;

/** How many times as fast as a peer one of ours has to be. */
export const RATIOS = [
  { ours: 'volley', peer: 'p-queue', bound: 1.5 },
  { ours: 'volley', peer: 'p-queue priorities', bound: 10 },
  { ours: 'volley', peer: 'p-queue timeouts', bound: 8 },
  { ours: 'volley', peer: 'Effect timeouts', bound: 1.8 },
  { ours: 'volley', peer: 'fastq promises', bound: 0.95 },
  { ours: 'volley submitAll', peer: 'p-queue', bound: 3 },
] as const;

type Ratio = (typeof RATIOS)[number];

export function reportNoOps(results: readonly Result[]): Report {
  const counts = [...new Set(results.map(({ work }) => work.count))];
  const tables = counts.flatMap((count) => {
    const ofCount = results.filter(({ work }) => work.count === count);
    return [rateTable(count, ofCount), ratioTable(count, ofCount)];
  });
  return { tables, goals: RATIOS.map((ratio) => goalOf(ratio, results)) };
}

function rateTable(count: number, results: readonly Result[]): Table {
  return {
    title: `${count.toLocaleString('en-US')} no-ops: milliseconds, median and half the range`,
    headers: ['contestant', ...results.map(({ work }) => `concurrency ${work.concurrency}`)],
    rows: Object.keys(CONTESTANTS)
      .filter((name) => results.every(({ work }) => work.contestants.includes(name)))
      .map((name) => [name, ...results.map((result) => withSpread(result.figure(name, 'ms'), ''))]),
  };
}

function ratioTable(count: number, results: readonly Result[]): Table {
  return {
    title: `${count.toLocaleString('en-US')} no-ops: how many times as fast as the peer`,
    headers: ['goal', ...results.map(({ work }) => `concurrency ${work.concurrency}`)],
    rows: RATIOS.filter((ratio) => results.every((result) => takesPart(ratio, result))).map((ratio) => [
      textOf(ratio),
      ...results.map((result) => {
        const figure = ratioOf(ratio, result);
        return `${times(figure)} ${verdict(figure >= ratio.bound)}`;
      }),
    ]),
  };
}

function goalOf(ratio: Ratio, results: readonly Result[]): Goal {
  const findings = results
    .filter((result) => takesPart(ratio, result))
    .map((result) => ({ figure: ratioOf(ratio, result), where: result.work.label }));
  return atLeast(`No-ops: ${textOf(ratio)}`, ratio.bound, ' ×', findings);
}

function textOf({ ours, peer, bound }: Ratio): string {
  return `${ours} ≥ ${bound} × ${peer}`;
}

function takesPart({ peer }: Ratio, { work }: Result): boolean {
  return work.contestants.includes(peer);
}

function ratioOf({ ours, peer }: Ratio, result: Result): number {
  return result.figure(peer, 'ms').median / result.figure(ours, 'ms').median;
}
