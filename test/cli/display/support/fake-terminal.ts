import { EventEmitter } from 'node:events';

const COMMAND = new RegExp(`^${'\x1b'}\\[([?\\d;]*)([A-Za-z])`);

/** Understands as much of a terminal's language as the display speaks, and refuses the rest. */
export class FakeTerminal extends EventEmitter {
  readonly isTTY = true;
  readonly writes: string[] = [];
  isCursorHidden = false;
  writableNeedDrain = false;
  /** All lines that there were; the last `rows` of them are on the screen. */
  private readonly lines: string[][] = [[]];
  private row = 0;
  private column = 0;

  constructor(
    public columns = 80,
    public rows = 24,
  ) {
    super();
  }

  write(text: string): boolean {
    this.writes.push(text);
    for (let at = 0; at < text.length; ) at = this.take(text, at);
    return true;
  }

  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.emit('resize');
  }

  /** Everything as text, without empty lines at the end. */
  get text(): string {
    return this.lines
      .map((line) =>
        Array.from(line, (sign) => sign ?? ' ')
          .join('')
          .trimEnd(),
      )
      .join('\n')
      .trimEnd();
  }

  private take(text: string, at: number): number {
    const [command, parameters, final] = COMMAND.exec(text.slice(at, at + 20)) ?? [];
    if (command !== undefined) {
      this.obey(parameters!, final!);
      return at + command.length;
    }
    const sign = String.fromCodePoint(text.codePointAt(at)!);
    if (sign === '\r') this.column = 0;
    else if (sign === '\n') this.newLine();
    else if (sign < ' ' || (sign >= '\x7f' && sign < '\xa0'))
      throw new Error(`control ${JSON.stringify(sign)}`);
    else this.put(sign);
    return at + sign.length;
  }

  private put(sign: string): void {
    if (this.column >= this.columns) this.newLine();
    this.lines[this.row]![this.column++] = sign;
  }

  private newLine(): void {
    this.column = 0;
    this.row++;
    if (this.row === this.lines.length) this.lines.push([]);
  }

  private obey(parameters: string, final: string): void {
    if (final === 'm') return;
    if (final === 'A') {
      const up = Number(parameters);
      const top = Math.max(0, this.lines.length - this.rows);
      if (this.row - up < top) throw new Error('the cursor would leave the screen');
      this.row -= up;
    } else if (final === 'K') {
      this.lines[this.row]!.length = Math.min(this.lines[this.row]!.length, this.column);
    } else if (final === 'J') {
      this.lines[this.row]!.length = Math.min(this.lines[this.row]!.length, this.column);
      this.lines.length = this.row + 1;
    } else if (parameters === '?25') {
      this.isCursorHidden = final === 'l';
    } else {
      throw new Error(`unknown command ${parameters}${final}`);
    }
  }
}
