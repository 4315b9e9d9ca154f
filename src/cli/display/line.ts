import { cutMiddleToWidth, cutToWidth, padEndToWidth, padStartToWidth, textWidth } from '../output/width.ts';

/** A line of at most so many columns, put together from texts that may be coloured. */
export class Line {
  text = '';
  width = 0;

  constructor(private readonly columns: number) {}

  get room(): number {
    return this.columns - this.width;
  }

  /** Adds a plain text, cut where the line ends. */
  add(text: string, colour: (text: string) => string = asItIs): this {
    const cut = cutToWidth(text, this.room);
    this.text += colour(cut);
    this.width += textWidth(cut);
    return this;
  }

  /** Adds a name as a column: cut in its middle, and filled up to a width. */
  column(text: string, width: number, colour?: (text: string) => string): this {
    return this.add(padEndToWidth(cutMiddleToWidth(text, width), width), colour);
  }

  columnAtRight(text: string, width: number, colour?: (text: string) => string): this {
    return this.add(padStartToWidth(cutToWidth(text, width), width), colour);
  }
}

function asItIs(text: string): string {
  return text;
}
