import { printableLine } from '../../core/printable-text.ts';
import { spanText } from '../../core/words.ts';
import type { Colours } from '../output/colours.ts';
import { numberText, percentText, rangeText, rateText } from '../output/numbers.ts';
import { textWidth } from '../output/width.ts';
import { addBar } from './bar.ts';
import { Line } from './line.ts';
import { type BatchView, type RunningTask, totalsOf } from './view.ts';

/** How large the terminal is, and whether it has colours. */
export interface FrameOptions {
  readonly columns: number;
  readonly rows: number;
  readonly colours: Colours;
  readonly now: number;
}

/** Below this a line shows only what is most important. */
const NARROW = 60;
const VERY_NARROW = 40;
const WIDEST_BAR = 60;
const SHARE_WIDTH = '100%'.length;

/** The picture of a batch: a bar, the counts, what runs. Never wider or higher than the terminal. */
export function frameLines(view: BatchView, options: FrameOptions): Line[] {
  // The last column stays free: terminals differ in what they do when it is written.
  const width = Math.max(1, options.columns - 1);
  const height = Math.max(1, options.rows - 1);
  if (height === 1) return [countsLine(view, width, options.colours, percentText(view.progress))];
  const lines = [barLine(view, width, options.colours), countsLine(view, width, options.colours)];
  if (view.note !== undefined && lines.length < height) {
    lines.push(new Line(width).add(printableLine(view.note), options.colours.yellow));
  }
  // Half of the screen is left to what scrolls above.
  const room = Math.min(height - lines.length, Math.max(3, Math.floor(options.rows / 2)));
  lines.push(...runningLines(view.running, room, width, options));
  return lines;
}

function barLine({ name, counts, progress }: BatchView, width: number, colours: Colours): Line {
  const line = new Line(width);
  const percent = percentText(progress).padStart(4);
  const title = printableLine(name);
  if (width >= 30)
    line.column(title, Math.min(textWidth(title), Math.floor(width / 3)), colours.bold).add('  ');
  const { total } = totalsOf(counts);
  const bar = Math.min(WIDEST_BAR, line.room - percent.length - 1);
  if (bar > 0) {
    addBar(line, { progress, failed: total === 0 ? 0 : counts.failed / total }, bar, colours);
    line.add(' ');
  }
  return line.add(percent.slice(-line.room), colours.bold);
}

/** The most important first; what does not fit any more is left out whole. */
function countsLine(view: BatchView, width: number, colours: Colours, lead?: string): Line {
  const { counts, ratePerSecond, timeLeft } = view;
  const { total, ended } = totalsOf(counts);
  const line = new Line(width);
  if (lead !== undefined) line.add(`${lead} `, colours.bold);
  const [of, separator] = width < VERY_NARROW ? ['/', ' '] : [' of ', ' · '];
  line.add(`${numberText(ended)}${of}${numberText(total)}`);
  const add = (text: string, colour?: (text: string) => string) => {
    if (line.room >= textWidth(text) + separator.length) line.add(separator, colours.dim).add(text, colour);
  };
  if (counts.failed > 0) add(`${numberText(counts.failed)} failed`, colours.red);
  if (timeLeft !== undefined && ended < total) add(`${rangeText(timeLeft)} left`, colours.cyan);
  // What has just started is listed below before the store counts it.
  const running = Math.max(counts.running, view.running.length);
  if (running > 0) add(`${numberText(running)} running`);
  if (counts.skipped > 0) add(`${numberText(counts.skipped)} skipped`, colours.yellow);
  if (counts.cancelled > 0) add(`${numberText(counts.cancelled)} cancelled`, colours.yellow);
  if (ratePerSecond !== undefined && ratePerSecond > 0) add(rateText(ratePerSecond));
  return line;
}

/** One line for each, the longest first; the last one says how many more there are. */
function runningLines(
  running: readonly RunningTask[],
  room: number,
  width: number,
  { colours, now }: FrameOptions,
): Line[] {
  if (room < 1 || running.length === 0) return [];
  const sorted = [...running].sort((a, b) => a.startedAt - b.startedAt);
  const shown = sorted.slice(0, sorted.length > room ? room - 1 : room).map(toPlain);
  const isNarrow = width < NARROW;
  const functions = isNarrow ? 0 : widest(shown, 'function', Math.floor(width * 0.25));
  const hasProgress = shown.some(({ progress }) => progress !== undefined);
  const times = shown.map(({ startedAt }) => elapsedText(now - startedAt));
  // The longest is the first; a little more keeps the column where it is for a while.
  const timeWidth = Math.max(6, times[0]?.length ?? 0);
  const share = Math.floor(width * (isNarrow ? 0.7 : 0.4));
  const beside = [timeWidth, functions, hasProgress && !isNarrow ? SHARE_WIDTH : 0];
  const left = beside.reduce((room, column) => (column === 0 ? room : room - column - 2), width);
  // What they are doing has its place; where nobody tells that, names have all that is left.
  const hasSteps = shown.some(({ step }) => step !== undefined);
  const names = widest(shown, 'name', hasSteps ? share : Math.max(share, left));
  const lines = shown.map((task, index) => {
    const line = new Line(width).columnAtRight(times[index]!, timeWidth, colours.dim);
    line.add('  ').column(task.name, Math.min(names, line.room));
    if (functions > 0) line.add('  ').column(task.function, functions, colours.dim);
    if (hasProgress && !isNarrow)
      line.add('  ').columnAtRight(shareText(task.progress), SHARE_WIDTH, colours.cyan);
    if (task.step !== undefined && line.room > 6) line.add('  ').add(task.step, colours.dim);
    return line;
  });
  const more = sorted.length - shown.length;
  if (more > 0) {
    const lead = ' '.repeat(width < NARROW / 2 ? 0 : timeWidth + 2);
    lines.push(new Line(width).add(`${lead}… and ${numberText(more)} more`, colours.dim));
  }
  return lines;
}

function toPlain(task: RunningTask): RunningTask {
  const { name, function: functionName, step } = task;
  return {
    ...task,
    name: printableLine(name),
    function: printableLine(functionName),
    step: step === undefined ? undefined : printableLine(step),
  };
}

function widest(tasks: readonly RunningTask[], key: 'name' | 'function', most: number): number {
  return tasks.reduce((width, task) => Math.min(most, Math.max(width, textWidth(task[key]))), 0);
}

function shareText(progress: number | undefined): string {
  return progress === undefined ? '' : percentText(progress);
}

/** In whole seconds, so that a line is not drawn anew for every tenth. */
function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds === 0 ? '0 s' : spanText(seconds * 1000);
}
