/**
 * A binary heap whose items know their index, so that any of them can be removed or moved in O(log n). Keys are in an
 * array of their own, so most comparisons never touch an item.
 */
export abstract class IndexedHeap<T> {
  protected readonly items: T[] = [];
  private readonly keys: number[] = [];

  /** The stored index of an item; -1 if it is not in the heap. */
  protected abstract indexOf(item: T): number;
  protected abstract setIndex(item: T, index: number): void;
  /** Breaks ties between equal keys. */
  protected abstract winsTie(a: T, b: T): boolean;

  get size(): number {
    return this.items.length;
  }

  /** The item with the smallest key. */
  peek(): T | undefined {
    return this.items[0];
  }

  /** The smallest key; Infinity while the heap is empty. */
  get firstKey(): number {
    return this.keys.length === 0 ? Number.POSITIVE_INFINITY : this.keys[0]!;
  }

  /** The key at an index. */
  keyAt(index: number): number {
    return this.keys[index]!;
  }

  insert(item: T, key: number): void {
    this.items.push(item);
    this.keys.push(key);
    this.siftUp(item, key, this.items.length - 1);
  }

  remove(item: T): void {
    const index = this.indexOf(item);
    this.setIndex(item, -1);
    const last = this.items.pop()!;
    const lastKey = this.keys.pop()!;
    if (last !== item) this.settle(last, lastKey, index);
  }

  /** Moves an item whose key or tie-breaker changed. */
  update(item: T, key: number): void {
    this.settle(item, key, this.indexOf(item));
  }

  [Symbol.iterator](): Iterator<T> {
    return this.items.values();
  }

  private settle(item: T, key: number, index: number): void {
    const parent = (index - 1) >> 1;
    if (index > 0 && this.precedes(item, key, parent)) this.siftUp(item, key, index);
    else this.siftDown(item, key, index);
  }

  private precedes(item: T, key: number, other: number): boolean {
    const otherKey = this.keys[other]!;
    return key === otherKey ? this.winsTie(item, this.items[other]!) : key < otherKey;
  }

  private siftUp(item: T, key: number, from: number): void {
    const { items, keys } = this;
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.precedes(item, key, parent)) break;
      this.move(parent, index);
      index = parent;
    }
    items[index] = item;
    keys[index] = key;
    this.setIndex(item, index);
  }

  private siftDown(item: T, key: number, from: number): void {
    const { items, keys } = this;
    const size = items.length;
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= size) break;
      const right = child + 1;
      if (right < size && this.precedes(items[right]!, keys[right]!, child)) child = right;
      if (this.precedes(item, key, child)) break;
      this.move(child, index);
      index = child;
    }
    items[index] = item;
    keys[index] = key;
    this.setIndex(item, index);
  }

  private move(from: number, to: number): void {
    const item = this.items[from]!;
    this.items[to] = item;
    this.keys[to] = this.keys[from]!;
    this.setIndex(item, to);
  }
}
