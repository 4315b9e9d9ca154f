import { taskPages } from '../../batch/context.ts';
import { ENDED, endedOf, hasSucceeded, type TaskCounts, totalOf } from '../../batch/counts.ts';
import { commonText } from '../../batch/results-summary.ts';
import { spendingText } from '../../batch/run/spending.ts';
import { printableLine } from '../../core/printable-text.ts';
import { countText, listText, spanText } from '../../core/words.ts';
import { isGroup, type StoredSpending, type TaskStatus } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { type Colors, createColors, wantsColors } from '../output/colors.ts';
import type { Io } from '../output/io.ts';
import { factorText, numberText } from '../output/numbers.ts';
import {
  cutMiddleToWidth,
  cutToWidth,
  padEndToWidth,
  padStartToWidth,
  textWidth,
  wrapHanging,
} from '../output/text-layout.ts';
import { programName, scopeFlags } from '../output/wording.ts';
import { causeText } from './event-lines.ts';
import { type DisplayedCompletion, type DisplayedFailure, taskLabel } from './view.ts';

const DEFAULT_COLUMNS = 100;
const WORKED: readonly TaskStatus[] = ['completed', 'failed'];
const MAX_SLOWEST = 5;
const MAX_SHOWN_CAUSES = 8;
const MAX_WARNINGS = 3;
const MAX_KEPT_WARNINGS = 10_000;
const MAX_SHOWN_WORKERS = 8;
/** Shorter tasks are not worth ranking. */
const MIN_SLOW_MS = 10;
/** Below this, the comparison with running one at a time is noise. */
const MIN_SPEEDUP = 1.2;

/** What the caller knows about a run. */
interface RunFacts {
  readonly counts: TaskCounts;
  readonly hasFailures: boolean;
  readonly spending?: StoredSpending | undefined;
  /** Whether there was anything to run. */
  readonly hadWork: boolean;
  /** Wall-clock time. Tasks that started before belong to another run. */
  readonly since: number;
  /** By the monotonic clock. */
  readonly elapsedMs: number;
}

/** Summarizes a run that has just ended. */
export async function summarizeRun(
  store: Store,
  batch: string,
  { counts, hasFailures, spending, hadWork, since: startedAt, elapsedMs }: RunFacts,
  config: string | undefined,
  io: Pick<Io, 'stdout' | 'env'>,
): Promise<string> {
  // The wall clock may have been set back meanwhile.
  const since = Math.min(startedAt, Date.now() - elapsedMs);
  const slowest: DisplayedCompletion[] = [];
  const failures = new FailureGroups();
  const warnings: string[] = [];
  const workers = new Map<string, number>();
  let workMs = 0;
  let cached = 0;
  // Another process may have finished everything before it was our turn.
  let hasRun = hadWork && counts.open + counts.running > 0;
  for await (const page of taskPages(store, batch, ENDED)) {
    for (const task of page) {
      const { endedAt = 0, durationMs, function: tool, reason = 'error', message = '', attempts } = task;
      const name = taskLabel(task);
      if (task.status === 'failed') failures.add({ name, function: tool, reason, message, attempts });
      // Skipped tasks have no start.
      if ((task.startedAt ?? endedAt) < since) continue;
      hasRun = hadWork;
      for (const warning of task.options.warnings ?? [])
        if (warnings.length < MAX_KEPT_WARNINGS) warnings.push(`${name}: ${warning}`);
      // A group only waits for its items.
      if (durationMs === undefined || !WORKED.includes(task.status) || isGroup(task.options)) continue;
      if (task.cached) {
        cached++;
        continue;
      }
      workMs += durationMs;
      if (task.worker !== undefined) workers.set(task.worker, (workers.get(task.worker) ?? 0) + 1);
      if (task.status === 'completed') keepSlowest(slowest, { name, function: tool, durationMs });
    }
  }
  return summaryText(
    {
      name: batch,
      counts,
      hasFailures,
      spending,
      hasRun,
      elapsedMs,
      workMs,
      cached,
      workers,
      slowest,
      warnings,
      failures: failures.list(),
    },
    {
      colors: createColors(wantsColors(io.stdout, io.env)),
      columns: io.stdout.columns || DEFAULT_COLUMNS,
      program: programName(io),
      config,
    },
  );
}

function keepSlowest(slowest: DisplayedCompletion[], task: DisplayedCompletion): void {
  const last = slowest[MAX_SLOWEST - 1];
  if (last !== undefined && last.durationMs >= task.durationMs) return;
  slowest.push(task);
  slowest.sort((a, b) => b.durationMs - a.durationMs);
  slowest.length = Math.min(slowest.length, MAX_SLOWEST);
}

export interface RunSummary {
  readonly name: string;
  readonly counts: TaskCounts;
  /** Whether a failure was not handled by a group. */
  readonly hasFailures: boolean;
  /** Whether anything was left to run. */
  readonly hasRun: boolean;
  readonly elapsedMs: number;
  /** The sum of all durations. */
  readonly workMs: number;
  /** How many results of this run came from the cache. */
  readonly cached?: number;
  /** How many tasks ended on each worker of the cluster. */
  readonly workers?: ReadonlyMap<string, number>;
  readonly spending?: StoredSpending | undefined;
  /** The longest first. */
  readonly slowest: readonly DisplayedCompletion[];
  /** The largest group first. */
  readonly failures: readonly FailureGroup[];
  /** Possible mistakes in arguments, each with its task. */
  readonly warnings?: readonly string[];
}

export interface SummaryOptions {
  readonly colors: Colors;
  readonly columns: number;
  /** How the reader starts this program. */
  readonly program: string;
  readonly config?: string | undefined;
}

/** Counts, time, slow tasks, failures by cause, warnings, and what to do next. */
export function summaryText(summary: RunSummary, options: SummaryOptions): string {
  const blocks = [headLines, slowestLines, failureLines, warningLines, nextLines]
    .map((write) => write(summary, options))
    .filter((lines) => lines.length > 0);
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function headLines(
  { name, counts, hasFailures, hasRun, elapsedMs, workMs, cached = 0, workers, spending }: RunSummary,
  { colors, columns }: SummaryOptions,
): string[] {
  const total = totalOf(counts);
  const isAll = counts.completed === total;
  const isGood = isAll || hasSucceeded({ counts, hasFailures });
  const isUnfinished = endedOf(counts) < total && counts.failed === 0;
  const mark = isGood ? colors.green('✓') : isUnfinished ? colors.yellow('◦') : colors.red('✗');
  const parts = [
    isAll
      ? colors.green(total === 1 ? '1 task completed' : `all ${numberText(total)} tasks completed`)
      : `${numberText(counts.completed)} of ${numberText(total)} completed`,
  ];
  const alarming = hasFailures ? colors.red : colors.yellow;
  if (counts.failed > 0) parts.push(alarming(`${numberText(counts.failed)} failed`));
  for (const status of ['skipped', 'cancelled'] as const) {
    if (counts[status] > 0) parts.push(colors.yellow(`${numberText(counts[status])} ${status}`));
  }
  const left = counts.open + counts.running;
  if (left > 0) parts.push(colors.yellow(`${numberText(left)} not finished`));
  const title = cutToWidth(printableLine(name), Math.max(8, Math.floor(columns / 2)));
  const time = spanText(elapsedMs);
  const took = !hasRun ? '; nothing left to run' : isGood ? ` in ${time}` : `; took ${time}`;
  const lines = [wrapHanging(`${mark} ${colors.bold(title)}: ${parts.join(', ')}${took}`, columns, 2)];
  if (cached > 0) {
    const source = `${numberText(cached)} of ${numberText(total)} from cache`;
    lines.push(`  ${source}${colors.dim(cached === counts.completed ? '; nothing had to run' : '')}`);
  }
  if (workers !== undefined && workers.size > 0)
    lines.push(`  ${wrapHanging(workersText(workers, colors), columns, 2)}`);
  if (spending !== undefined) lines.push(`  ${spendingText(spending)}`);
  const factor = elapsedMs > 0 ? workMs / elapsedMs : 0;
  if (factor >= MIN_SPEEDUP) {
    const compared = `${colors.dim(`${spanText(workMs)} of work,`)} ${factorText(factor)}× ${colors.dim('the speed of one task at a time')}`;
    lines.push(`  ${wrapHanging(compared, columns, 2)}`);
  }
  return lines;
}

/** `on 3 workers: a 12, b 10 and c 8`, those with the most tasks first. */
function workersText(workers: ReadonlyMap<string, number>, colors: Colors): string {
  const sorted = [...workers].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  const shown = sorted.slice(0, MAX_SHOWN_WORKERS).map(([name, count]) => `${name} ${numberText(count)}`);
  return `on ${countText(workers.size, 'worker')}: ${colors.dim(listText(shown, sorted.length))}`;
}

function slowestLines({ slowest }: RunSummary, { colors, columns }: SummaryOptions): string[] {
  const shown = slowest.slice(0, MAX_SLOWEST).filter(({ durationMs }) => durationMs >= MIN_SLOW_MS);
  if (shown.length < 2) return [];
  const times = shown.map(({ durationMs }) => spanText(durationMs));
  const widest = Math.max(...times.map(textWidth));
  const names = shown.map(({ name }) =>
    cutMiddleToWidth(printableLine(name), Math.max(8, columns - widest - 5)),
  );
  const widestName = Math.max(...names.map(textWidth));
  const room = columns - widest - widestName - 9;
  const rows = shown.map(({ function: tool }, index) => {
    const lead = `  ${padStartToWidth(times[index]!, widest)}  `;
    const functionName = cutToWidth(printableLine(tool), room);
    if (room <= 10 || functionName === names[index]) return lead + names[index]!;
    return `${lead}${padEndToWidth(names[index]!, widestName)}${colors.dim(`  ${functionName}`)}`;
  });
  return [colors.bold('Slowest'), ...rows];
}

function failureLines(
  { failures, counts, hasFailures }: RunSummary,
  { colors, columns }: SummaryOptions,
): string[] {
  if (failures.length === 0) return [];
  const lines = [colors.bold(hasFailures ? 'Failed' : 'Failed, and handled by the program or group')];
  const shown = failures.slice(0, MAX_SHOWN_CAUSES);
  const counted = shown.map(({ count }) => `${numberText(count)} ×`);
  const widest = Math.max(...counted.map(textWidth));
  const indent = ' '.repeat(widest + 3);
  for (const [index, { cause, count, examples }] of shown.entries()) {
    const lead = padStartToWidth(counted[index]!, widest);
    const words = cutToWidth(printableLine(cause), Math.max(20, columns * 2 - widest - 4));
    lines.push(`  ${colors.red(lead)} ${wrapHanging(words, columns, indent.length)}`);
    const more = count - examples.length;
    const names = examples.map((name) => cutToWidth(printableLine(name), 60)).join(', ');
    const all = `${names}${more > 0 ? ` and ${numberText(more)} more` : ''}`;
    lines.push(colors.dim(indent + wrapHanging(all, columns, indent.length)));
  }
  const others = counts.failed - shown.reduce((sum, { count }) => sum + count, 0);
  if (others > 0) lines.push(colors.dim(`  … and ${numberText(others)} with other causes`));
  return lines;
}

function warningLines({ warnings = [] }: RunSummary, { colors, columns }: SummaryOptions): string[] {
  if (warnings.length === 0) return [];
  const shown = warnings
    .slice(0, MAX_WARNINGS)
    .map((warning) => `  ${wrapHanging(cutToWidth(printableLine(warning), columns * 3), columns, 4)}`);
  const more = warnings.length - shown.length;
  return [
    colors.yellow('Warnings'),
    ...shown,
    ...(more > 0 ? [colors.dim(`  … and ${numberText(more)} more`)] : []),
  ];
}

/** The commands to continue with. */
function nextLines(
  { name, counts, hasFailures, hasRun }: RunSummary,
  { colors, columns, program, config }: SummaryOptions,
): string[] {
  const flags = scopeFlags({ batch: printableLine(name), config });
  const commands: (readonly [command: string, effect: string])[] = [];
  const left = counts.open + counts.running;
  if (left > 0)
    commands.push([
      `${program} start${flags}`,
      `runs the ${left === 1 ? 'remaining task' : `${numberText(left)} remaining tasks`}`,
    ]);
  const reopened = (['failed', 'skipped', 'cancelled'] as const).filter(
    (status) => hasFailures && counts[status] > 0,
  );
  if (reopened.length > 0)
    commands.push([
      `${program} retry${flags}`,
      `reopens the ${listText(reopened.map((status) => `${numberText(counts[status])} ${status}`))}`,
    ]);
  if (counts.failed > 0) {
    commands.push([
      `${program} results${flags} --filter-status failed --format detailed`,
      'shows each failure',
    ]);
  } else if (counts.completed > 0) {
    commands.push([`${program} results${flags}`, 'shows the results']);
  }
  if (!hasRun) commands.push([`${program} clear${flags}`, 'deletes the batch, so that it can run again']);
  if (commands.length === 0) return [];
  const widest = Math.max(...commands.map(([command]) => textWidth(command)));
  const isBeside = commands.every(([, effect]) => widest + textWidth(effect) + 4 <= columns);
  const lines = commands.map(([command, effect]) => {
    const between = isBeside ? ' '.repeat(widest - textWidth(command) + 2) : '\n      ';
    return `  ${command}${between}${colors.dim(isBeside ? effect : wrapHanging(effect, columns, 6))}`;
  });
  return [colors.bold('Next'), ...lines];
}

/** Failures with the same cause, judged by their messages. */
export interface FailureGroup {
  /** The message, with `…` where messages differ. */
  readonly cause: string;
  readonly count: number;
  /** Names of the first tasks. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 3;
/** With more causes, the messages differ in what does not matter: the rest is counted together. */
const MAX_CAUSES = 1000;
const MAX_CAUSE_WIDTH = 400;
const OTHER_CAUSES = 'other causes';

/** Groups failures by cause. Numbers, quoted text, paths and the task's own name make no difference. */
export function groupFailures(failures: Iterable<DisplayedFailure>): FailureGroup[] {
  const groups = new FailureGroups();
  for (const task of failures) groups.add(task);
  return groups.list();
}

/** Groups failures one by one: there may be a million. */
class FailureGroups {
  private readonly groups = new Map<string, { cause: string; count: number; examples: string[] }>();

  add(task: DisplayedFailure): void {
    const { groups } = this;
    const cause = causeText(task, MAX_CAUSE_WIDTH);
    const wanted = `${task.reason} ${causePattern(cause, printableLine(task.name))}`;
    const key = groups.has(wanted) || groups.size < MAX_CAUSES ? wanted : OTHER_CAUSES;
    const known = groups.get(key);
    const group = known ?? { cause: key === OTHER_CAUSES ? OTHER_CAUSES : cause, count: 0, examples: [] };
    if (known === undefined) groups.set(key, group);
    else if (key !== OTHER_CAUSES) group.cause = commonText(group.cause, cause);
    group.count++;
    if (group.examples.length < MAX_EXAMPLES) group.examples.push(printableLine(task.name));
  }

  /** Most frequent first. */
  list(): FailureGroup[] {
    return [...this.groups.values()].sort((a, b) => b.count - a.count);
  }
}

/** A message without the parts that vary from task to task. */
function causePattern(cause: string, name: string): string {
  const withoutName = name === '' ? cause : cause.replaceAll(name, '<name>');
  return withoutName
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '<text>')
    .replace(/(?:[\w.@~-]*[/\\])+[\w.@~-]*/g, '<path>')
    .replace(/\d+(?:\.\d+)?/g, '<number>');
}
