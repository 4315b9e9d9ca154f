import { systemTiming, type Timing } from '../../batch/timing.ts';
import type { Colors } from '../output/colors.ts';
import { numberText } from '../output/numbers.ts';
import { completedLine, failedLine } from './event-lines.ts';
import { frameLines } from './frame.ts';
import { Screen, type TerminalStream } from './screen.ts';
import type { Display, DisplayedBatch, DisplayedCompletion, DisplayedFailure } from './view.ts';

const FRAME_MS = 100;
/** Elapsed times grow without an event. */
const TICK_MS = 1000;
/** Lines that scroll by between two frames; nobody reads more. */
const MAX_LINES = 20;

export interface LiveDisplayOptions {
  readonly stream: TerminalStream;
  /** Called once for each frame. */
  readonly view: () => DisplayedBatch;
  readonly colors: Colors;
  readonly timing?: Timing;
}

/** Redraws a frame at the bottom of the terminal, and scrolls lines away above it. */
export class LiveDisplay implements Display {
  readonly refreshMs = 100;
  private readonly screen: Screen;
  private readonly timing: Timing;
  private lines: string[] = [];
  private omittedLines = 0;
  private drawnAt = Number.NEGATIVE_INFINITY;
  private cancelTimer: (() => void) | undefined;
  private dueAt = Number.POSITIVE_INFINITY;
  private isClosed = false;

  constructor(private readonly options: LiveDisplayOptions) {
    this.timing = options.timing ?? systemTiming(Date.now);
    this.screen = new Screen(options.stream, () => this.changed());
  }

  changed(): void {
    // A clock that was set back must not delay the next frame.
    const since = Math.max(0, this.timing.now() - this.drawnAt);
    this.drawIn(Math.max(0, FRAME_MS - since));
  }

  failed(task: DisplayedFailure): void {
    this.addLine(failedLine(task, this.options.colors));
  }

  completed(task: DisplayedCompletion): void {
    this.addLine(completedLine(task, this.options.colors));
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.screen.draw(this.takeLines(), []);
    this.screen.close();
  }

  private addLine(line: string): void {
    if (this.lines.length < MAX_LINES) this.lines.push(line);
    else this.omittedLines++;
    this.changed();
  }

  private takeLines(): string[] {
    const { lines, omittedLines } = this;
    if (omittedLines > 0) {
      lines.push(this.options.colors.dim(`  … and ${numberText(omittedLines)} more at once`));
    }
    this.lines = [];
    this.omittedLines = 0;
    return lines;
  }

  private drawIn(ms: number): void {
    const dueAt = this.timing.now() + ms;
    if (this.isClosed || (this.cancelTimer !== undefined && this.dueAt <= dueAt)) return;
    this.cancelTimer?.();
    this.dueAt = dueAt;
    this.cancelTimer = this.timing.after(ms, () => {
      this.cancelTimer = undefined;
      this.draw();
    });
  }

  private draw(): void {
    // A stopped or slow terminal gets the latest frame when it is ready, not all that it missed.
    if (this.screen.isBusy) {
      this.drawIn(FRAME_MS);
      return;
    }
    const { columns, rows } = this.screen.size();
    const now = this.timing.now();
    const view = this.options.view();
    this.screen.draw(this.takeLines(), frameLines(view, { columns, rows, colors: this.options.colors, now }));
    this.drawnAt = now;
    if (view.running.length > 0) this.drawIn(TICK_MS);
  }
}
