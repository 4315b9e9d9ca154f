/**
 * Numbers ordered by a key, then a tie-breaker: a 4-ary heap over plain arrays. It stores plain numbers, so no step
 * touches an object, and only the first entry can be removed.
 */
export class NumberHeap {
  private readonly keys: number[] = [];
  private readonly ties: number[] = [];
  private readonly values: number[] = [];

  get size(): number {
    return this.keys.length;
  }

  /** The smallest key; Infinity while the heap is empty. */
  get firstKey(): number {
    return this.keys.length === 0 ? Number.POSITIVE_INFINITY : this.keys[0]!;
  }

  /** The tie-breaker and the value of the first entry; the heap must not be empty. */
  get firstTie(): number {
    return this.ties[0]!;
  }

  get first(): number {
    return this.values[0]!;
  }

  add(key: number, tie: number, value: number): void {
    const { keys, ties, values } = this;
    let index = keys.length;
    keys.push(key);
    ties.push(tie);
    values.push(value);
    while (index > 0) {
      const parent = (index - 1) >> 2;
      const other = keys[parent]!;
      if (other < key || (other === key && ties[parent]! <= tie)) break;
      keys[index] = other;
      ties[index] = ties[parent]!;
      values[index] = values[parent]!;
      index = parent;
    }
    keys[index] = key;
    ties[index] = tie;
    values[index] = value;
  }

  dropFirst(): void {
    const key = this.keys.pop()!;
    const tie = this.ties.pop()!;
    const value = this.values.pop()!;
    if (this.keys.length > 0) this.sink(0, key, tie, value);
  }

  /** Maps each entry to another value; a negative value drops it. */
  renumber(change: (value: number) => number): void {
    const { keys, ties, values } = this;
    let kept = 0;
    for (let index = 0; index < keys.length; index++) {
      const value = change(values[index]!);
      if (value < 0) continue;
      keys[kept] = keys[index]!;
      ties[kept] = ties[index]!;
      values[kept++] = value;
    }
    keys.length = ties.length = values.length = kept;
    for (let index = (kept - 2) >> 2; index >= 0; index--)
      this.sink(index, keys[index]!, ties[index]!, values[index]!);
  }

  /** Sifts an entry down from an index. */
  private sink(from: number, key: number, tie: number, value: number): void {
    const { keys, ties, values } = this;
    const size = keys.length;
    let index = from;
    for (;;) {
      let child = 4 * index + 1;
      if (child >= size) break;
      const end = Math.min(child + 4, size);
      let childKey = keys[child]!;
      for (let other = child + 1; other < end; other++) {
        const otherKey = keys[other]!;
        if (otherKey < childKey || (otherKey === childKey && ties[other]! < ties[child]!)) {
          child = other;
          childKey = otherKey;
        }
      }
      if (key < childKey || (key === childKey && tie <= ties[child]!)) break;
      keys[index] = childKey;
      ties[index] = ties[child]!;
      values[index] = values[child]!;
      index = child;
    }
    keys[index] = key;
    ties[index] = tie;
    values[index] = value;
  }
}
