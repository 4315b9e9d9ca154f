import { endedOf, totalOf } from '../../batch/counts.ts';
import { systemTiming, type Timing } from '../../batch/timing.ts';
import { printableLine } from '../../core/printable-text.ts';
import { type Colors, createColors, onlyOwnStyles } from '../output/colors.ts';
import { numberText, percentText, rateText, timeRangeText } from '../output/numbers.ts';
import { completedLine, failedLine } from './event-lines.ts';
import type { Display, DisplayedBatch, DisplayedCompletion, DisplayedFailure } from './view.ts';

const INTERVAL_MS = 10_000;
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

/** For pipes and logs: a progress line every few seconds, and a line for each failure. */
export class PlainDisplay implements Display {
  readonly refreshMs = INTERVAL_MS / 4;
  private readonly colors: Colors;
  private readonly timing: Timing;
  private cancelTimer: (() => void) | undefined;
  private lastLine = '';
  private lastNote: string | undefined;
  private isClosed = false;

  constructor(private readonly options: PlainDisplayOptions) {
    this.colors = options.colors ?? createColors(false);
    this.timing = options.timing ?? systemTiming(Date.now);
  }

  changed(): void {
    this.writeNote();
    if (this.isClosed || this.cancelTimer !== undefined) return;
    this.cancelTimer = this.timing.after(INTERVAL_MS, () => {
      this.cancelTimer = undefined;
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

/** `audit: 62%, 620 of 1,000 done, 3 failed, 8 running, 41/s, 8 to 12 s left`. */
function progressLine(view: DisplayedBatch): string {
  const { name, counts, cached = 0, progress, ratePerSecond, timeLeft, running } = view;
  const [total, ended] = [totalOf(counts), endedOf(counts)];
  const parts = [percentText(progress), `${numberText(ended)} of ${numberText(total)} done`];
  const groups = running.filter(({ isGroup }) => isGroup).length;
  const shown = { ...counts, running: counts.running - groups };
  for (const status of ['failed', 'skipped', 'cancelled', 'running'] as const) {
    if (shown[status] > 0) parts.push(`${numberText(shown[status])} ${status}`);
  }
  if (cached > 0) parts.push(`${numberText(cached)} from cache`);
  if (ratePerSecond !== undefined && ratePerSecond > 0) parts.push(rateText(ratePerSecond));
  if (timeLeft !== undefined && ended < total) parts.push(`${timeRangeText(timeLeft)} left`);
  return `${printableLine(name)}: ${parts.join(', ')}`;
}
