import { internalError } from './errors.ts';

const PAGE_BITS = 10;
const PAGE_SIZE = 1 << PAGE_BITS;
/** So many names may be left of items that have gone, and three for each item that is there. */
const NAMES_LEFT = 1024;

interface Page<T> {
  readonly items: (T | undefined)[];
  live: number;
}

/** Something with a running number and perhaps a name of its own. */
interface Listed {
  readonly seq: number;
  readonly name: string | undefined;
}

/**
 * Finds items by running number or by name. Numbers rise, so they live in pages instead of a map: that is several
 * times cheaper, and a page goes when its last item does.
 */
export class Directory<T extends Listed> {
  /**
   * Numbers and not items: to look up a name touches no item, of which most are cold. Names of items that have gone
   * are left, and taken out in bulk: to take out each by itself costs several times as much.
   */
  private named = new Map<string, number>();
  /** Whether names may be left of items that have gone. */
  private hasStaleNames = false;
  private readonly pages: (Page<T> | undefined)[] = [];
  private firstPage = 0;
  private live = 0;
  /** Not less than the number of names; it is at hand, while that of a map has to be asked for. */
  private maxNames = 0;

  /** Answers false, and adds nothing, if the name is taken. */
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

  /** The number of the item with the name; perhaps of one that has gone. */
  seqOf(name: string): number | undefined {
    return this.named.get(name);
  }

  /** Takes back an addition: the number can be used again. */
  undo({ seq, name }: T): void {
    if (name !== undefined) this.named.delete(name);
    this.remove(seq);
  }

  /** Takes out the item with the number, if there is one. The number is never used again. */
  remove(seq: number): void {
    const at = pageOf(seq) - this.firstPage;
    const page = this.pages[at];
    if (page?.items[seq & (PAGE_SIZE - 1)] === undefined) return;
    page.items[seq & (PAGE_SIZE - 1)] = undefined;
    page.live--;
    this.live--;
    // The last page stays: it is still being filled.
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
    // A look-up beforehand would cost each new name more than the search costs the few that are taken.
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

  /** How many pages are kept, empty ones included. */
  get pageCount(): number {
    return this.pages.length;
  }

  /** How many names are kept, those of items that have gone included. */
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

/** A shift alone would not do: an engine that lives long counts beyond 32 bits. */
function pageOf(seq: number): number {
  return seq < 2 ** 31 ? seq >> PAGE_BITS : Math.floor(seq / PAGE_SIZE);
}
