import { StringDecoder } from 'node:string_decoder';

/** Longer lines are left out: nothing that an agent means is that long. */
const LONGEST_LINE = 16 * 2 ** 20;

/** Makes lines of chunks. */
export class LineSplitter {
  private readonly decoder = new StringDecoder('utf8');
  private rest = '';
  private isTooLong = false;

  constructor(private readonly onLine: (line: string) => void) {}

  push(chunk: Buffer): void {
    this.take(this.decoder.write(chunk));
  }

  /** The last line may have no end. */
  end(): void {
    this.take(this.decoder.end());
    if (this.rest !== '' && !this.isTooLong) this.onLine(this.rest);
    this.rest = '';
  }

  private take(text: string): void {
    let from = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      const line = this.rest + text.slice(from, at);
      this.rest = '';
      from = at + 1;
      if (!this.isTooLong) this.onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
      this.isTooLong = false;
    }
    if (this.isTooLong) return;
    this.rest += text.slice(from);
    if (this.rest.length <= LONGEST_LINE) return;
    this.isTooLong = true;
    this.rest = '';
  }
}
