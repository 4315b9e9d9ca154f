import { internalError } from './errors.ts';

const PAGE_BITS = 10;
const PAGE_SIZE = 1 << PAGE_BITS;
/** Stale names kept before cleanup, besides three per live item. */
const NAMES_LEFT = 1024;

interface Page<T> {
  readonly items: (T | undefined)[];
  live: number;
}

/** An item with a sequence number and, optionally, a name. */
interface Listed {
  readonly seq: number;
  readonly name: string | undefined;
}

/**
 * Finds items by sequence number or name. Numbers increase, so they live in pages instead of a map: several times
 * cheaper, and a page is freed with its last item.
 */
export class Directory<T extends Listed> {
  /**
   * Numbers, not items: a lookup by name touches no item, and most items are cold. Names of removed items stay and are
   * deleted in bulk, which is several times cheaper than one by one.
   */
  private named = new Map<string, number>();
  /** Whether names of removed items may remain. */
  private hasStaleNames = false;
  private readonly pages: (Page<T> | undefined)[] = [];
  private firstPage = 0;
  private live = 0;
  /** An upper bound of the number of names; cheaper than asking the map. */
  private maxNames = 0;

  /** Returns false, and adds nothing, if the name is taken. */
  add(item: T): boolean {
    if (item.name !== undefined && !this.enterName(item.name, item.seq)) return false;
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
    this.live++;
    return true;
  }

  bySeq(seq: number): T | undefined {
    return this.pages[pageOf(seq) - this.firstPage]?.items[seq & (PAGE_SIZE - 1)];
  }

  byName(name: string): T | undefined {
    const seq = this.named.get(name);
    const item = seq === undefined ? undefined : this.bySeq(seq);
    return item?.name === name ? item : undefined;
  }

  /** The number of the item with the name; the item may have been removed. */
  seqOf(name: string): number | undefined {
    return this.named.get(name);
  }

  /** Undoes an addition: the number can be used again. */
  undo({ seq, name }: T): void {
    if (name !== undefined) this.named.delete(name);
    this.remove(seq);
  }

  /** Removes the item with the number, if there is one. The number is never reused. */
  remove(seq: number): void {
    const at = pageOf(seq) - this.firstPage;
    const page = this.pages[at];
    if (page?.items[seq & (PAGE_SIZE - 1)] === undefined) return;
    page.items[seq & (PAGE_SIZE - 1)] = undefined;
    page.live--;
    this.live--;
    // The last page stays, because it is still being filled.
    if (page.live === 0 && at < this.pages.length - 1) this.drop(at);
    this.hasStaleNames = true;
    if (this.maxNames > NAMES_LEFT + 4 * this.live) this.dropStaleNames();
  }

  private enterName(name: string, seq: number): boolean {
    const { named } = this;
    if (this.hasStaleNames) {
      if (this.byName(name) !== undefined) return false;
      named.set(name, seq);
      this.maxNames++;
      return true;
    }
    // A lookup first would cost every new name more than the search costs the few that are taken.
    const { size } = named;
    named.set(name, seq);
    if (named.size > size) {
      this.maxNames++;
      return true;
    }
    for (const item of this) if (item.name === name) named.set(name, item.seq);
    return false;
  }

  private dropStaleNames(): void {
    const left = new Map<string, number>();
    this.named.forEach((seq, name) => {
      if (this.bySeq(seq) !== undefined) left.set(name, seq);
    });
    this.named = left;
    this.maxNames = left.size;
    this.hasStaleNames = false;
  }

  private drop(at: number): void {
    this.pages[at] = undefined;
    while (this.pages.length > 1 && this.pages[0] === undefined) {
      this.pages.shift();
      this.firstPage++;
    }
  }

  /** The number of pages, including empty ones. */
  get pageCount(): number {
    return this.pages.length;
  }

  /** The number of names, including those of removed items. */
  get nameCount(): number {
    return this.named.size;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const page of this.pages) {
      if (page === undefined) continue;
      for (const item of page.items) if (item !== undefined) yield item;
    }
  }
}

/** Not a shift: a long-lived engine counts beyond 32 bits. */
function pageOf(seq: number): number {
  return seq < 2 ** 31 ? seq >> PAGE_BITS : Math.floor(seq / PAGE_SIZE);
}
