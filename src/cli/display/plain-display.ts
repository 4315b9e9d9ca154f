import { endedOf, totalOf } from '../../batch/counts.ts';
import { systemTiming, type Timing } from '../../batch/timing.ts';
import { printableLine } from '../../core/printable-text.ts';
import { type Colors, createColors, onlyOwnStyles } from '../output/colors.ts';
import { numberText, percentText, rateText, timeRangeText } from '../output/numbers.ts';
import { completedLine, failedLine } from './event-lines.ts';
import {
  type Display,
  type DisplayedBatch,
  type DisplayedCompletion,
  type DisplayedFailure,
  runningCount,
} from './view.ts';

/** Short batches say something soon, long ones not too often. */
const INTERVALS_MS = [1000, 2000, 5000, 10_000];
const MAX_GROUPS = 5;

export interface PlainDisplayOptions {
  readonly stream: { write(text: string): unknown };
  readonly view: () => DisplayedBatch;
  /** Written as soon as it changes. */
  readonly note?: () => string | undefined;
  /** Default: none. */
  readonly colors?: Colors;
  readonly timing?: Timing;
}

/** For pipes and logs: a line at the start, progress lines now and then, and a line for each failure. */
export class PlainDisplay implements Display {
  readonly refreshMs = INTERVALS_MS[0]!;
  private readonly colors: Colors;
  private readonly timing: Timing;
  private cancelTimer: (() => void) | undefined;
  private lastLine = '';
  private hasStarted = false;
  private written = 0;
  private lastNote: string | undefined;
  private isClosed = false;

  constructor(private readonly options: PlainDisplayOptions) {
    this.colors = options.colors ?? createColors(false);
    this.timing = options.timing ?? systemTiming(Date.now);
  }

  changed(): void {
    this.writeStart();
    this.writeNote();
    if (this.isClosed || this.cancelTimer !== undefined) return;
    const pause = INTERVALS_MS[Math.min(this.written, INTERVALS_MS.length - 1)]!;
    this.cancelTimer = this.timing.after(pause, () => {
      this.cancelTimer = undefined;
      this.written++;
      const view = this.options.view();
      const line = [progressLine(view), ...groupLines(view)].join('\n');
      if (line !== this.lastLine) this.write(line);
      this.lastLine = line;
    });
  }

  failed(task: DisplayedFailure): void {
    this.write(failedLine(task, this.colors));
  }

  completed(task: DisplayedCompletion): void {
    this.write(completedLine(task, this.colors));
  }

  close(): void {
    this.isClosed = true;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }

  private writeStart(): void {
    if (this.hasStarted) return;
    this.hasStarted = true;
    const { name, counts } = this.options.view();
    const left = counts.open + counts.running;
    if (left > 0)
      this.write(`${printableLine(name)}: running ${numberText(left)} ${left === 1 ? 'task' : 'tasks'}`);
  }

  private writeNote(): void {
    const note = this.options.note?.();
    if (note !== undefined && note !== this.lastNote) this.write(printableLine(note));
    this.lastNote = note;
  }

  private write(line: string): void {
    if (!this.isClosed) this.options.stream.write(`${onlyOwnStyles(line)}\n`);
  }
}

/** `  read: 37 of 50, 2 failed`. */
function groupLines({ running }: DisplayedBatch): string[] {
  const groups = running.filter(({ isGroup, step }) => isGroup && step !== undefined);
  return groups.slice(0, MAX_GROUPS).map(({ name, step }) => `  ${printableLine(`${name}: ${step}`)}`);
}

/** `audit: 62%, 617 of 1,000 completed, 3 failed, 8 running, 41/s, 8 to 12 s left`. */
function progressLine(view: DisplayedBatch): string {
  const { name, counts, cached = 0, progress, ratePerSecond, timeLeft, facts = [] } = view;
  const [total, ended] = [totalOf(counts), endedOf(counts)];
  const parts = [percentText(progress), `${numberText(counts.completed)} of ${numberText(total)} completed`];
  const shown = { ...counts, running: runningCount(view) };
  for (const status of ['failed', 'skipped', 'cancelled', 'running'] as const) {
    if (shown[status] > 0) parts.push(`${numberText(shown[status])} ${status}`);
  }
  if (cached > 0) parts.push(`${numberText(cached)} from cache`);
  if (ratePerSecond !== undefined && ratePerSecond > 0) parts.push(rateText(ratePerSecond));
  if (timeLeft !== undefined && ended < total) parts.push(`${timeRangeText(timeLeft)} left`);
  parts.push(...facts.map(printableLine));
  return `${printableLine(name)}: ${parts.join(', ')}`;
}
