import { internalError } from './errors.ts';

/** A power of two. */
const PAGE_SIZE = 1024;

interface Page<T> {
  readonly items: (T | undefined)[];
  live: number;
}

/** Something with a running number and perhaps a name of its own. */
export interface Listed {
  readonly seq: number;
  readonly name: string | undefined;
}

/**
 * Finds items by running number or by name. Numbers rise, so they live in pages instead of a map: that is several
 * times cheaper, and a page goes when its last item does.
 */
export class Directory<T extends Listed> {
  private readonly named = new Map<string, T>();
  private readonly pages: (Page<T> | undefined)[] = [];
  private firstPage = 0;

  add(item: T): void {
    const at = pageOf(item.seq) - this.firstPage;
    let page = this.pages[at];
    if (page === undefined) {
      if (at < 0) throw internalError(`The number ${item.seq} was used before`);
      page = { items: new Array(PAGE_SIZE).fill(undefined), live: 0 };
      const last = this.pages.length - 1;
      while (this.pages.length < at) this.pages.push(undefined);
      this.pages[at] = page;
      if (this.pages[last]?.live === 0) this.drop(last);
    }
    page.items[item.seq & (PAGE_SIZE - 1)] = item;
    page.live++;
    if (item.name !== undefined) this.named.set(item.name, item);
  }

  bySeq(seq: number): T | undefined {
    return this.pages[pageOf(seq) - this.firstPage]?.items[seq & (PAGE_SIZE - 1)];
  }

  byName(name: string): T | undefined {
    return this.named.get(name);
  }

  remove(item: T): void {
    const at = pageOf(item.seq) - this.firstPage;
    const page = this.pages[at]!;
    page.items[item.seq & (PAGE_SIZE - 1)] = undefined;
    page.live--;
    if (item.name !== undefined) this.named.delete(item.name);
    // The last page stays: it is still being filled.
    if (page.live === 0 && at < this.pages.length - 1) this.drop(at);
  }

  private drop(at: number): void {
    this.pages[at] = undefined;
    while (this.pages.length > 1 && this.pages[0] === undefined) {
      this.pages.shift();
      this.firstPage++;
    }
  }

  /** How many pages are kept, empty ones included. */
  get pageCount(): number {
    return this.pages.length;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const page of this.pages) {
      if (page === undefined) continue;
      for (const item of page.items) if (item !== undefined) yield item;
    }
  }
}

/** No shift: an engine that lives long counts beyond 32 bits. */
function pageOf(seq: number): number {
  return Math.floor(seq / PAGE_SIZE);
}
