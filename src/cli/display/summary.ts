import { printableLine } from '../../core/printable-text.ts';
import { spanText } from '../../core/words.ts';
import type { Colours } from '../output/colours.ts';
import { factorText, numberText } from '../output/numbers.ts';
import { placeOptions } from '../output/own-name.ts';
import { cutToWidth, padEndToWidth, padStartToWidth, textWidth } from '../output/width.ts';
import { wrapHanging } from '../output/wrap.ts';
import type { FailureGroup } from './failure-groups.ts';
import { type CompletedTask, type TaskCounts, totalsOf } from './view.ts';

/** What became of a run of a batch. */
export interface SummaryView {
  readonly name: string;
  readonly counts: TaskCounts;
  /** Whether there was anything left to run. */
  readonly hasRun: boolean;
  /** From the start of the run to its end. */
  readonly elapsedMs: number;
  /** The durations of all tasks of the run, one after the other. */
  readonly workMs: number;
  /** The longest first; the first few are shown. */
  readonly slowest: readonly CompletedTask[];
  /** The largest first. */
  readonly failures: readonly FailureGroup[];
  /** Possible mistakes in the arguments of tasks, each with its task. */
  readonly warnings?: readonly string[];
}

export interface SummaryOptions {
  readonly colours: Colours;
  readonly columns: number;
  /** How the program is called in the commands to go on with. */
  readonly program: string;
  /** The configuration that they must be given. */
  readonly config?: string | undefined;
}

const MAX_SLOWEST = 5;
const MAX_GROUPS = 8;
const MAX_WARNINGS = 3;
/** Below this the order of the slowest says nothing. */
const WORTH_NAMING_MS = 10;
/** Below this a comparison with working one after the other is noise. */
const WORTH_COMPARING = 1.2;

/** The end of a run for people: counts, time, what was slow, what failed and why, and what to do next. */
export function summaryText(view: SummaryView, options: SummaryOptions): string {
  const blocks = [
    headLines(view, options),
    slowestLines(view, options),
    failureLines(view, options),
    warningLines(view, options),
    nextLines(view, options),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function headLines(
  { name, counts, hasRun, elapsedMs, workMs }: SummaryView,
  { colours, columns }: SummaryOptions,
): string[] {
  const { total, ended } = totalsOf(counts);
  const isGood = counts.completed === total;
  const isUnfinished = ended < total && counts.failed === 0;
  const mark = isGood ? colours.green('✓') : isUnfinished ? colours.yellow('◦') : colours.red('✗');
  const parts = [isGood ? colours.green(wholeText(total)) : doneText(counts.completed, total)];
  if (counts.failed > 0) parts.push(colours.red(`${numberText(counts.failed)} failed`));
  for (const status of ['skipped', 'cancelled'] as const) {
    if (counts[status] > 0) parts.push(colours.yellow(`${numberText(counts[status])} ${status}`));
  }
  const left = counts.open + counts.running;
  if (left > 0) parts.push(colours.yellow(`${numberText(left)} not finished`));
  const title = cutToWidth(printableLine(name), Math.max(8, Math.floor(columns / 2)));
  const took = hasRun ? `, in ${spanText(elapsedMs)}` : '; nothing was left to run';
  const lines = [wrapHanging(`${mark} ${colours.bold(title)}: ${parts.join(', ')}${took}`, columns, 2)];
  const factor = elapsedMs > 0 ? workMs / elapsedMs : 0;
  if (factor >= WORTH_COMPARING) {
    const times = `${factorText(factor)} times as fast`;
    const compared = `${colours.dim(`${spanText(workMs)} of work: `)}${times}${colours.dim(' as one after the other')}`;
    lines.push(`  ${wrapHanging(compared, columns, 2)}`);
  }
  return lines;
}

function slowestLines({ slowest }: SummaryView, { colours, columns }: SummaryOptions): string[] {
  const shown = slowest.slice(0, MAX_SLOWEST).filter(({ durationMs }) => durationMs >= WORTH_NAMING_MS);
  if (shown.length < 2) return [];
  const times = shown.map(({ durationMs }) => spanText(durationMs));
  const widest = Math.max(...times.map(textWidth));
  const names = shown.map(({ name }) => cutToWidth(printableLine(name), Math.max(8, columns - widest - 5)));
  const widestName = Math.max(...names.map(textWidth));
  const room = columns - widest - widestName - 9;
  const rows = shown.map(({ function: tool }, index) => {
    const lead = `  ${padStartToWidth(times[index]!, widest)}  `;
    const functionName = cutToWidth(printableLine(tool), room);
    if (room <= 10 || functionName === names[index]) return lead + names[index]!;
    return `${lead}${padEndToWidth(names[index]!, widestName)}${colours.dim(`  ${functionName}`)}`;
  });
  return [colours.bold('Slowest'), ...rows];
}

function failureLines({ failures, counts }: SummaryView, { colours, columns }: SummaryOptions): string[] {
  if (failures.length === 0) return [];
  const lines = [colours.bold('Failed')];
  const shown = failures.slice(0, MAX_GROUPS);
  const counted = shown.map(({ count }) => `${numberText(count)} ×`);
  const widest = Math.max(...counted.map(textWidth));
  const indent = ' '.repeat(widest + 3);
  for (const [index, { cause, count, examples }] of shown.entries()) {
    const lead = padStartToWidth(counted[index]!, widest);
    const words = cutToWidth(printableLine(cause), Math.max(20, columns * 2 - widest - 4));
    lines.push(`  ${colours.red(lead)} ${wrapHanging(words, columns, indent.length)}`);
    const more = count - examples.length;
    const names = examples.map((name) => cutToWidth(printableLine(name), 60)).join(', ');
    const all = `${names}${more > 0 ? ` and ${numberText(more)} more` : ''}`;
    lines.push(colours.dim(indent + wrapHanging(all, columns, indent.length)));
  }
  const others = counts.failed - shown.reduce((sum, { count }) => sum + count, 0);
  if (others > 0) lines.push(colours.dim(`  … and ${numberText(others)} of other causes`));
  return lines;
}

function warningLines({ warnings = [] }: SummaryView, { colours, columns }: SummaryOptions): string[] {
  if (warnings.length === 0) return [];
  const shown = warnings
    .slice(0, MAX_WARNINGS)
    .map((warning) => `  ${wrapHanging(cutToWidth(printableLine(warning), columns * 3), columns, 4)}`);
  const more = warnings.length - shown.length;
  return [
    colours.yellow('Warnings'),
    ...shown,
    ...(more > 0 ? [colours.dim(`  … and ${numberText(more)} more`)] : []),
  ];
}

/** The commands that go on from here. */
function nextLines(
  { name, counts, hasRun }: SummaryView,
  { colours, columns, program, config }: SummaryOptions,
): string[] {
  const batch = placeOptions({ batch: printableLine(name), config });
  const commands: (readonly [command: string, does: string])[] = [];
  const left = counts.open + counts.running;
  if (left > 0)
    commands.push([
      `${program} start${batch}`,
      left === 1 ? 'goes on with the one that is left' : `goes on with the ${numberText(left)} that are left`,
    ]);
  const again = counts.failed + counts.skipped + counts.cancelled;
  if (again > 0) commands.push([`${program} retry${batch}`, `opens ${againText(counts)} again`]);
  if (counts.failed > 0) {
    commands.push([
      `${program} results${batch} --filter-status failed --format detailed`,
      'shows each failure',
    ]);
  } else if (counts.completed > 0) {
    commands.push([`${program} results${batch}`, 'shows what came out']);
  }
  if (!hasRun) commands.push([`${program} clear${batch}`, 'forgets all of it, and it can run anew']);
  if (commands.length === 0) return [];
  const widest = Math.max(...commands.map(([command]) => textWidth(command)));
  const isBeside = commands.every(([, does]) => widest + textWidth(does) + 4 <= columns);
  const lines = commands.map(([command, does]) => {
    const between = isBeside ? ' '.repeat(widest - textWidth(command) + 2) : '\n      ';
    return `  ${command}${between}${colours.dim(isBeside ? does : wrapHanging(does, columns, 6))}`;
  });
  return [colours.bold('Next'), ...lines];
}

function againText({ failed, skipped, cancelled }: TaskCounts): string {
  const parts = [
    [failed, 'failed'],
    [skipped, 'skipped'],
    [cancelled, 'cancelled'],
  ] as const;
  const named = parts.filter(([count]) => count > 0).map(([count, word]) => `${numberText(count)} ${word}`);
  return named.length < 2
    ? `the ${named.join('')}`
    : `the ${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
}

function wholeText(total: number): string {
  return total === 1 ? 'the task completed' : `all ${numberText(total)} completed`;
}

function doneText(completed: number, total: number): string {
  return `${numberText(completed)} of ${numberText(total)} completed`;
}
