import type { Rows } from './block.ts';

/** Up to so many entries a scan for repetitions is cheaper than a set. */
const FEW = 16;

/** Builds {@link Rows}, one after the other; what is named twice in a row is entered once. */
export class RowBuilder<N> implements Rows<N> {
  readonly starts: Int32Array;
  readonly entries: Int32Array;
  readonly older: N[] = [];
  /** Whether a node depends on itself or on one behind it. */
  refersForward = false;
  private readonly olderEntries = new Map<N, number>();
  private row = 0;
  private rowStart = 0;
  private end = 0;
  /** The entries of a long row. */
  private seen: Set<number> | undefined;

  constructor(rows: number, maxEntries: number) {
    this.starts = new Int32Array(rows + 1);
    this.entries = new Int32Array(maxEntries);
  }

  add(place: number): void {
    if (place >= this.row) this.refersForward = true;
    this.enter(place);
  }

  addOlder(node: N): void {
    let entry = this.olderEntries.get(node);
    if (entry === undefined) {
      entry = ~this.older.length;
      this.older.push(node);
      this.olderEntries.set(node, entry);
    }
    this.enter(entry);
  }

  endRow(): void {
    this.starts[++this.row] = this.rowStart = this.end;
    this.seen = undefined;
  }

  private enter(entry: number): void {
    if (!this.isRepeated(entry)) this.entries[this.end++] = entry;
  }

  private isRepeated(entry: number): boolean {
    const { entries, rowStart, end } = this;
    if (end - rowStart < FEW) {
      for (let at = rowStart; at < end; at++) if (entries[at] === entry) return true;
      return false;
    }
    this.seen ??= new Set(entries.subarray(rowStart, end));
    if (this.seen.has(entry)) return true;
    this.seen.add(entry);
    return false;
  }
}
