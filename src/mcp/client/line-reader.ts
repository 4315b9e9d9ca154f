const LINE_FEED = 0x0a;

/** Cuts a stream into lines. Each byte is looked at once, however long a line gets. */
export class LineReader {
  private pieces: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly longest: number) {}

  /** The lines that end in this piece. False where one got longer than it may: nothing can be read any more. */
  take(chunk: Buffer, give: (line: string) => void): boolean {
    let from = 0;
    for (let to = chunk.indexOf(LINE_FEED); to !== -1; to = chunk.indexOf(LINE_FEED, from)) {
      this.pieces.push(chunk.subarray(from, to));
      give(Buffer.concat(this.pieces).toString());
      this.clear();
      from = to + 1;
    }
    this.pieces.push(chunk.subarray(from));
    this.bytes += chunk.length - from;
    return this.bytes <= this.longest;
  }

  clear(): void {
    this.pieces = [];
    this.bytes = 0;
  }
}
