import type { Colours } from '../output/colours.ts';
import { numberText } from '../output/numbers.ts';
import { completedLine, failedLine } from './event-lines.ts';
import { frameLines } from './frame.ts';
import { Screen, type TerminalStream } from './screen.ts';
import {
  type BatchView,
  type CompletedTask,
  type Display,
  type FailedTask,
  REAL_TIMING,
  type Timing,
} from './view.ts';

/** Ten pictures a second are as many as anybody sees. */
const FRAME_MS = 100;
/** The times of what runs grow by themselves. */
const TICK_MS = 1000;
/** So many lines scroll by in one picture; nobody reads more. */
const MAX_LINES = 20;

export interface LiveDisplayOptions {
  readonly stream: TerminalStream;
  /** Asked once for each picture. */
  readonly view: () => BatchView;
  readonly colours: Colours;
  readonly timing?: Timing;
}

/** Shows a batch on a terminal: a picture that is drawn over itself, and lines that scroll away above it. */
export class LiveDisplay implements Display {
  private readonly screen: Screen;
  private readonly timing: Timing;
  private lines: string[] = [];
  private linesLeftOut = 0;
  private drawnAt = Number.NEGATIVE_INFINITY;
  private cancelTimer: (() => void) | undefined;
  private dueAt = Number.POSITIVE_INFINITY;
  private isClosed = false;

  constructor(private readonly options: LiveDisplayOptions) {
    this.timing = options.timing ?? REAL_TIMING;
    this.screen = new Screen(options.stream, () => this.changed());
  }

  changed(): void {
    // A clock that was set back must not hold the picture up.
    const since = Math.max(0, this.timing.now() - this.drawnAt);
    this.drawIn(Math.max(0, FRAME_MS - since));
  }

  failed(task: FailedTask): void {
    this.addLine(failedLine(task, this.options.colours));
  }

  completed(task: CompletedTask): void {
    this.addLine(completedLine(task, this.options.colours));
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
    else this.linesLeftOut++;
    this.changed();
  }

  private takeLines(): string[] {
    const { lines, linesLeftOut } = this;
    if (linesLeftOut > 0) {
      lines.push(this.options.colours.dim(`  … and ${numberText(linesLeftOut)} more at the same time`));
    }
    this.lines = [];
    this.linesLeftOut = 0;
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
    // A terminal that is stopped or slow gets the picture when it can take it, not all that it missed.
    if (this.screen.isBusy) {
      this.drawIn(FRAME_MS);
      return;
    }
    const { columns, rows } = this.screen.size();
    const now = this.timing.now();
    const view = this.options.view();
    this.screen.draw(
      this.takeLines(),
      frameLines(view, { columns, rows, colours: this.options.colours, now }),
    );
    this.drawnAt = now;
    if (view.running.length > 0) this.drawIn(TICK_MS);
  }
}
