import { onlyOwnStyles } from '../output/colors.ts';
import type { Line } from './frame.ts';

/** What is used of a terminal: `process.stderr` is one. */
export interface TerminalStream {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly writableNeedDrain?: boolean;
  write(text: string): unknown;
  on(event: 'resize' | 'error', listener: () => void): unknown;
  off(event: 'resize' | 'error', listener: () => void): unknown;
}

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const ERASE_LINE_END = '\x1b[K';
const ERASE_BELOW = '\x1b[J';
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/**
 * The last lines of a terminal, drawn over themselves with one write, so that nothing flickers. While there is a
 * picture the cursor is hidden; it comes back at the end, also when the process fails or is put into the background.
 */
export class Screen {
  private drawn: readonly Line[] = [];
  private drawnColumns = DEFAULT_COLUMNS;
  private isHidden = false;
  private isBroken = false;
  private isClosed = false;

  constructor(
    private readonly stream: TerminalStream,
    private readonly onResize: () => void,
  ) {
    stream.on('resize', onResize);
    stream.on('error', this.onError);
    process.on('exit', this.showCursor);
    for (const signal of ENDING_SIGNALS) process.on(signal, this.onEnd);
    if (process.platform !== 'win32') {
      process.on('SIGTSTP', this.onSuspend);
      process.on('SIGCONT', this.onContinue);
    }
  }

  /** Whether it has not taken yet what it was given last. */
  get isBusy(): boolean {
    return this.stream.writableNeedDrain === true;
  }

  /** In characters; a terminal that does not know says 0. */
  size(): { columns: number; rows: number } {
    return {
      columns: this.stream.columns || DEFAULT_COLUMNS,
      rows: this.stream.rows || DEFAULT_ROWS,
    };
  }

  /** Writes lines that stay, and below them the new picture; nothing at all if nothing changed. */
  draw(above: readonly string[], picture: readonly Line[]): void {
    if (this.isBroken || this.isClosed) return;
    const { columns } = this.size();
    const hasMoved = columns !== this.drawnColumns;
    if (above.length === 0 && !hasMoved && isSame(this.drawn, picture)) return;
    let output = this.toTop();
    const canKeep = above.length === 0 && !hasMoved;
    // Lines that stay may wrap, and a narrower terminal has wrapped the old picture: start afresh.
    if (!canKeep && this.drawn.length > 0) output += ERASE_BELOW;
    for (const line of above) output += `${onlyOwnStyles(line)}\n`;
    for (const [index, line] of picture.entries()) {
      const isKept = canKeep && this.drawn[index]?.text === line.text;
      output += isKept ? '\n' : `${onlyOwnStyles(line.text)}${ERASE_LINE_END}\n`;
    }
    if (picture.length < this.drawn.length) output += ERASE_BELOW;
    if (picture.length > 0 && !this.isHidden) {
      output = HIDE_CURSOR + output;
      this.isHidden = true;
    }
    this.drawn = picture;
    this.drawnColumns = columns;
    this.stream.write(output);
  }

  close(): void {
    this.showCursor();
    this.isClosed = true;
    this.stream.off('resize', this.onResize);
    this.stream.off('error', this.onError);
    process.off('exit', this.showCursor);
    for (const signal of ENDING_SIGNALS) process.off(signal, this.onEnd);
    process.off('SIGTSTP', this.onSuspend);
    process.off('SIGCONT', this.onContinue);
  }

  /** To the first column of the first line of the old picture, wrapped as it may be by now. */
  private toTop(): string {
    const { columns, rows } = this.size();
    const height = this.drawn.reduce((sum, { width }) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    const up = Math.min(height, rows - 1);
    return up > 0 ? `\r\x1b[${up}A` : '\r';
  }

  private readonly showCursor = (): void => {
    if (!this.isHidden || this.isBroken) return;
    this.isHidden = false;
    this.stream.write(SHOW_CURSOR);
  };

  /** The terminal is gone: the work goes on without a picture. */
  private readonly onError = (): void => {
    this.isBroken = true;
  };

  /** Where nobody else listens the signal still has its usual effect, with the cursor back in its place. */
  private readonly onEnd = (signal: NodeJS.Signals): void => {
    this.showCursor();
    if (process.listenerCount(signal) > 1) return;
    process.off(signal, this.onEnd);
    process.kill(process.pid, signal);
  };

  private readonly onSuspend = (): void => {
    this.showCursor();
    process.kill(process.pid, 'SIGSTOP');
  };

  /** The shell has written below the old picture: the next one is drawn below that. */
  private readonly onContinue = (): void => {
    this.drawn = [];
    // Who was in the background has not heard how large the terminal is now; Node asks it at this signal.
    process.kill(process.pid, 'SIGWINCH');
    this.onResize();
  };
}

function isSame(before: readonly Line[], after: readonly Line[]): boolean {
  return before.length === after.length && before.every((line, index) => line.text === after[index]!.text);
}
