/** The number of lines of each kind; the kinds add up to the total. */
export interface LineCounts {
  readonly total: number;
  /** With anything but comments and whitespace. */
  readonly code: number;
  /** With only comments or docstrings. */
  readonly comment: number;
  /** With only whitespace, even inside a long string. */
  readonly blank: number;
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** Characters processed between two pauses. */
const STRIDE = 1 << 16;

/** The line starts of a text. A line ends with LF, CRLF or CR; the end of the last one does not start another. */
export class Lines {
  private constructor(private readonly starts: readonly number[]) {}

  /** Yields between strides, so that the caller can do something else. */
  static *of(source: string): Generator<void, Lines> {
    const starts = source === '' ? [] : [0];
    for (let index = 0; index < source.length; index++) {
      const code = source.charCodeAt(index);
      const isEnd =
        code === LINE_FEED || (code === CARRIAGE_RETURN && source.charCodeAt(index + 1) !== LINE_FEED);
      if (isEnd && index + 1 < source.length) starts.push(index + 1);
      if (index % STRIDE === STRIDE - 1) yield;
    }
    return new Lines(starts);
  }

  get total(): number {
    return this.starts.length;
  }

  /** The line number, from 1, of a position. */
  at(position: number): number {
    let low = 0;
    let high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.starts[middle]! <= position) low = middle + 1;
      else high = middle;
    }
    return Math.max(1, low);
  }

  /** Classifies the lines. The comments are pairs of positions, in order. */
  *count(source: string, comments: readonly number[]): Generator<void, LineCounts> {
    let code = 0;
    let comment = 0;
    let nextComment = 0;
    let seen = 0;
    for (const [line, start] of this.starts.entries()) {
      const end = this.starts[line + 1] ?? source.length;
      let hasCode = false;
      let hasComment = false;
      for (let index = start; index < end && !hasCode; index++) {
        while (nextComment < comments.length && comments[nextComment + 1]! <= index) nextComment += 2;
        if (!isSpace(source.charCodeAt(index))) {
          if (index >= (comments[nextComment] ?? source.length)) hasComment = true;
          else hasCode = true;
        }
        if (++seen % STRIDE === 0) yield;
      }
      if (hasCode) code++;
      else if (hasComment) comment++;
      if (line % 1024 === 1023) yield;
    }
    return { total: this.total, code, comment, blank: this.total - code - comment };
  }
}

/** Whitespace as the parsers define it. */
export function isSpace(code: number): boolean {
  if (code <= 32) return code === 32 || (code >= 9 && code <= 13);
  return code === 0xa0 || code === 0xfeff || code === 0x2028 || code === 0x2029;
}
