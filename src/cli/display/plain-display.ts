import { printableLine } from '../../core/printable-text.ts';
import { type Colours, createColours, onlyOwnStyles } from '../output/colours.ts';
import { numberText, percentText, rangeText, rateText } from '../output/numbers.ts';
import { completedLine, failedLine } from './event-lines.ts';
import {
  type BatchView,
  type CompletedTask,
  type Display,
  type FailedTask,
  REAL_TIMING,
  type Timing,
  totalsOf,
} from './view.ts';

const BETWEEN_LINES_MS = 10_000;

export interface PlainDisplayOptions {
  readonly stream: { write(text: string): unknown };
  readonly view: () => BatchView;
  /** A word to the user. It is said as soon as it is there. */
  readonly note?: () => string | undefined;
  /** Default: none. */
  readonly colours?: Colours;
  readonly timing?: Timing;
}

/** For pipes and logs: a line now and then while something changes, and each failure once. */
export class PlainDisplay implements Display {
  private readonly colours: Colours;
  private readonly timing: Timing;
  private cancelTimer: (() => void) | undefined;
  private lastLine = '';
  private lastNote: string | undefined;
  private isClosed = false;

  constructor(private readonly options: PlainDisplayOptions) {
    this.colours = options.colours ?? createColours(false);
    this.timing = options.timing ?? REAL_TIMING;
  }

  changed(): void {
    this.tellNote();
    if (this.isClosed || this.cancelTimer !== undefined) return;
    this.cancelTimer = this.timing.after(BETWEEN_LINES_MS, () => {
      this.cancelTimer = undefined;
      const line = progressLine(this.options.view());
      if (line !== this.lastLine) this.write(line);
      this.lastLine = line;
    });
  }

  failed(task: FailedTask): void {
    this.write(failedLine(task, this.colours));
  }

  completed(task: CompletedTask): void {
    this.write(completedLine(task, this.colours));
  }

  close(): void {
    this.isClosed = true;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }

  /** What the user has to know now, such as what a second Ctrl-C would do. */
  private tellNote(): void {
    const note = this.options.note?.();
    if (note !== undefined && note !== this.lastNote) this.write(printableLine(note));
    this.lastNote = note;
  }

  private write(line: string): void {
    if (!this.isClosed) this.options.stream.write(`${onlyOwnStyles(line)}\n`);
  }
}

/** `audit: 62%, 620 of 1,000 done, 3 failed, 8 running, 41/s, 8 to 12 s left`. */
function progressLine({ name, counts, progress, ratePerSecond, timeLeft }: BatchView): string {
  const { total, ended } = totalsOf(counts);
  const parts = [percentText(progress), `${numberText(ended)} of ${numberText(total)} done`];
  for (const status of ['failed', 'skipped', 'cancelled', 'running'] as const) {
    if (counts[status] > 0) parts.push(`${numberText(counts[status])} ${status}`);
  }
  if (ratePerSecond !== undefined && ratePerSecond > 0) parts.push(rateText(ratePerSecond));
  if (timeLeft !== undefined && ended < total) parts.push(`${rangeText(timeLeft)} left`);
  return `${printableLine(name)}: ${parts.join(', ')}`;
}
