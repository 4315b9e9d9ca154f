import { NumberHeap } from './number-heap.ts';

/** The sort key of a queued item. */
export interface Standing {
  /** Smaller goes first. */
  readonly rank: number;
  /** The order of submission; breaks ties between equal ranks. */
  readonly seq: number;
}

/** The fields that let a queue order an item and find it again. */
export interface Ranked extends Standing {
  /** The part of a queue that holds the item, and its index there. */
  home: Home | undefined;
  place: number;
}

/** One part of a queue. */
interface Home {
  readonly queue: ReadyQueue<Ranked>;
  remove(item: Ranked): void;
}

export function goesBefore(a: Standing, b: Standing): boolean {
  return a.rank === b.rank ? a.seq < b.seq : a.rank < b.rank;
}

const MIN_RING = 16;

/** A FIFO ring for items that arrive in order; removal from the middle leaves a hole. */
class Ring<T extends Ranked> implements Home {
  private slots: (T | undefined)[] = new Array(MIN_RING).fill(undefined);
  private head = 0;
  private tail = 0;
  private lastRank = 0;
  private lastSeq = 0;
  /** The head's key: the heads of all rings are compared often, and the items themselves are cold. */
  firstRank = 0;
  firstSeq = 0;
  live = 0;

  constructor(readonly queue: ReadyQueue<Ranked>) {}

  /** Adds an item that sorts after everything added before. Returns false, and does nothing, if it does not. */
  push(item: T, rank: number, seq: number): boolean {
    if (this.live > 0 && (rank === this.lastRank ? seq < this.lastSeq : rank < this.lastRank)) return false;
    if (this.tail - this.head === this.slots.length) this.rebuild();
    item.home = this;
    item.place = this.tail;
    this.slots[this.tail & (this.slots.length - 1)] = item;
    this.tail++;
    this.lastRank = rank;
    this.lastSeq = seq;
    if (this.live++ === 0) {
      this.firstRank = rank;
      this.firstSeq = seq;
    }
    return true;
  }

  /** The head; the ring must not be empty. */
  first(): T {
    return this.slots[this.head & (this.slots.length - 1)]!;
  }

  remove(item: Ranked): void {
    this.slots[item.place & (this.slots.length - 1)] = undefined;
    item.home = undefined;
    this.live--;
    if (this.live === 0) this.reset();
    else if (item.place === this.head) this.passHoles();
  }

  /** Exact unless items were removed from the middle. */
  countBefore(item: Standing): number {
    const { slots, head } = this;
    let first = head;
    let last = this.tail;
    while (first < last) {
      const middle = (first + last) >> 1;
      let at = middle;
      while (at < last && slots[at & (slots.length - 1)] === undefined) at++;
      if (at < last && goesBefore(slots[at & (slots.length - 1)]!, item)) first = at + 1;
      else last = middle;
    }
    return first === head ? 0 : Math.round(((first - head) * this.live) / (this.tail - head));
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let at = this.head; at < this.tail; at++) {
      const item = this.slots[at & (this.slots.length - 1)];
      if (item !== undefined) yield item;
    }
  }

  private passHoles(): void {
    const { slots } = this;
    const mask = slots.length - 1;
    let first: T | undefined;
    do first = slots[++this.head & mask];
    while (first === undefined);
    this.firstRank = first.rank;
    this.firstSeq = first.seq;
  }

  private reset(): void {
    this.head = this.tail = 0;
    if (this.slots.length > 1024) this.slots = new Array(MIN_RING).fill(undefined);
  }

  /** Doubles the capacity, or closes the holes if there are many. */
  private rebuild(): void {
    if (this.live * 2 < this.slots.length) this.compact();
    else this.grow();
  }

  /** Indexes stay as they are, so the items, which may be many and cold, are not touched. */
  private grow(): void {
    const old = this.slots;
    const slots: (T | undefined)[] = new Array(old.length * 2).fill(undefined);
    for (let at = this.head; at < this.tail; at++)
      slots[at & (slots.length - 1)] = old[at & (old.length - 1)];
    this.slots = slots;
  }

  private compact(): void {
    const items = [...this];
    this.slots.fill(undefined);
    this.head = this.tail = 0;
    for (const item of items) {
      item.place = this.tail;
      this.slots[this.tail++] = item;
    }
  }
}

/**
 * Items ordered by rank, then submission. Most work arrives in order within its priority, so each priority level has a
 * ring with O(1) operations; only items that arrive out of order go through a heap.
 */
export class ReadyQueue<T extends Ranked> {
  private readonly rings: (Ring<T> | undefined)[] = [];
  private readonly used: Ring<T>[] = [];
  private heap: RankHeap<T> | undefined;
  /** The cached head, if known. */
  private best: T | undefined;
  /** The rank of the head, while it is known: computing it for every comparison would cost more than the comparison. */
  headRank = 0;

  push(item: T, level: number): void {
    const { rank, seq } = item;
    let ring = this.rings[level];
    if (ring === undefined) {
      ring = new Ring(this as unknown as ReadyQueue<Ranked>);
      this.rings[level] = ring;
      this.used.push(ring);
    }
    if (!ring.push(item, rank, seq)) {
      this.heap ??= new RankHeap(this as unknown as ReadyQueue<Ranked>);
      this.heap.push(item, rank, seq);
    }
    const { best, headRank } = this;
    if (best === undefined || rank > headRank || (rank === headRank && seq > best.seq)) return;
    this.best = item;
    this.headRank = rank;
  }

  peek(): T | undefined {
    this.best ??= this.findBest();
    return this.best;
  }

  /** Called for each item removed from a part of the queue. */
  forget(item: T): void {
    if (item === this.best) this.best = undefined;
  }

  get size(): number {
    let size = this.heap?.live ?? 0;
    for (const ring of this.used) size += ring.live;
    return size;
  }

  /** Adds the number of waiting items per level; approximate if many arrived out of order. */
  countLevels(counts: number[], levelOf: (item: T) => number): void {
    for (const [level, ring] of this.rings.entries()) if (ring !== undefined) counts[level]! += ring.live;
    this.heap?.countLevels(counts, levelOf);
  }

  /** Roughly how many waiting items go before the given one, which may wait elsewhere. Bounded cost. */
  countBefore(item: Standing): number {
    let count = 0;
    for (const ring of this.used) count += ring.countBefore(item);
    if (this.heap !== undefined) count += this.heap.countBefore(item);
    return count;
  }

  *[Symbol.iterator](): Iterator<T> {
    if (this.heap !== undefined) yield* this.heap;
    for (const ring of this.used) yield* ring;
  }

  private findBest(): T | undefined {
    const best = this.heap?.peek();
    let rank = best === undefined ? Number.POSITIVE_INFINITY : best.rank;
    let seq = best === undefined ? 0 : best.seq;
    let from: Ring<T> | undefined;
    for (const ring of this.used) {
      const { firstRank, firstSeq } = ring;
      if (ring.live === 0 || firstRank > rank || (firstRank === rank && firstSeq > seq)) continue;
      rank = firstRank;
      seq = firstSeq;
      from = ring;
    }
    this.headRank = rank;
    return from === undefined ? best : from.first();
  }
}

/** Moves a waiting item in its queue after its rank changed. */
export function requeue(item: Ranked, level: number): void {
  const { queue } = item.home!;
  dequeue(item);
  queue.push(item, level);
}

/** Removes an item from whichever queue holds it. */
export function dequeue(item: Ranked): void {
  const { home } = item;
  if (home === undefined) return;
  home.remove(item);
  home.queue.forget(item);
}

/** The most items a query inspects one by one. */
const MAX_COUNTED = 1000;
/** Unused slots kept beyond those needed. */
const MAX_SPARE = 64;

/**
 * Items in any order of arrival. Each has a slot, and the heap orders slot numbers. A removed item leaves its slot
 * empty, and the number is dropped when it reaches the front.
 */
class RankHeap<T extends Ranked> implements Home {
  private readonly order = new NumberHeap();
  private slots: (T | undefined)[] = [];
  private free: number[] = [];
  live = 0;

  constructor(readonly queue: ReadyQueue<Ranked>) {}

  push(item: T, rank: number, seq: number): void {
    const slot = this.free.pop() ?? this.slots.length;
    this.slots[slot] = item;
    this.order.add(rank, seq, slot);
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

  /** Exact for a small heap; samples a large one. */
  countBefore({ rank, seq }: Standing): number {
    let before = 0;
    const share = this.sample((item) => {
      if (item.rank < rank || (item.rank === rank && item.seq < seq)) before++;
    });
    return Math.round(before * share);
  }

  /** Exact for a small heap; samples a large one. */
  countLevels(counts: number[], levelOf: (item: T) => number): void {
    const found = counts.map(() => 0);
    const share = this.sample((item) => void found[levelOf(item)]!++);
    for (const [level, count] of found.entries()) counts[level]! += count * share;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const item of this.slots) if (item !== undefined) yield item;
  }

  /** Visits a bounded sample of items, with the number each one stands for. */
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

  /** Releases the empty slots. */
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
