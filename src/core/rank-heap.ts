import { NumberHeap } from './number-heap.ts';
import type { Home, Ranked, ReadyQueue, Standing } from './ready-queue.ts';

/** How many items a query looks at one by one. */
const MAX_COUNTED = 1000;
/** So many places may be kept beyond those that are needed. */
const MAX_SPARE = 64;

/**
 * Items in any order of arrival. Each has a slot, and the heap orders the numbers of the slots: an item that is taken
 * out leaves its slot empty, and the number is dropped when it comes to the front.
 */
export class RankHeap<T extends Ranked> implements Home {
  private readonly order = new NumberHeap();
  private slots: (T | undefined)[] = [];
  private free: number[] = [];
  live = 0;

  constructor(readonly queue: ReadyQueue<Ranked>) {}

  push(item: T): void {
    const slot = this.free.pop() ?? this.slots.length;
    this.slots[slot] = item;
    this.order.add(item.rank, item.seq, slot);
    this.live++;
    item.home = this;
    item.place = slot;
  }

  peek(): T | undefined {
    if (this.live === 0) return undefined;
    for (;;) {
      const slot = this.order.first;
      const item = this.slots[slot];
      if (item !== undefined) return item;
      this.order.dropFirst();
      this.free.push(slot);
    }
  }

  remove(item: Ranked): void {
    this.slots[item.place] = undefined;
    item.home = undefined;
    this.live--;
    const { size } = this.order;
    if (size > 2 * this.live + MAX_SPARE || this.slots.length > 8 * (this.live + MAX_SPARE)) this.compact();
  }

  /** Exact for a small heap; of a large one every so many are looked at. */
  countBefore({ rank, seq }: Standing): number {
    let before = 0;
    const share = this.sample((item) => {
      if (item.rank < rank || (item.rank === rank && item.seq < seq)) before++;
    });
    return Math.round(before * share);
  }

  /** Exact for a small heap; of a large one every so many are looked at. */
  countLevels(counts: number[], levelOf: (item: T) => number): void {
    const found = counts.map(() => 0);
    const share = this.sample((item) => void found[levelOf(item)]!++);
    for (const [level, count] of found.entries()) counts[level]! += count * share;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const item of this.slots) if (item !== undefined) yield item;
  }

  /** Looks at a bounded number of items, and tells how many each of them stands for. */
  private sample(look: (item: T) => void): number {
    const { slots, live } = this;
    const counted = live <= MAX_COUNTED ? slots.length : MAX_COUNTED;
    let found = 0;
    for (let index = 0; index < counted; index++) {
      const item = slots[Math.floor((index * slots.length) / counted)];
      if (item === undefined) continue;
      look(item);
      found++;
    }
    return found === 0 ? 0 : live / found;
  }

  /** Gives up the empty slots. */
  private compact(): void {
    const { slots } = this;
    const kept: T[] = [];
    this.order.renumber((slot) => {
      const item = slots[slot];
      if (item === undefined) return -1;
      item.place = kept.push(item) - 1;
      return item.place;
    });
    this.slots = kept;
    this.free = [];
  }
}
