/** Numbered things at moments in time, the earliest first: a heap over typed arrays of a fixed size. */
export class TimeHeap {
  private readonly times: Float64Array;
  private readonly items: Int32Array;
  size = 0;

  constructor(capacity: number) {
    this.times = new Float64Array(capacity);
    this.items = new Int32Array(capacity);
  }

  /** The earliest moment; Infinity while the heap is empty. */
  get firstTime(): number {
    return this.size === 0 ? Number.POSITIVE_INFINITY : this.times[0]!;
  }

  add(item: number, time: number): void {
    const { times, items } = this;
    let index = this.size++;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (times[parent]! <= time) break;
      times[index] = times[parent]!;
      items[index] = items[parent]!;
      index = parent;
    }
    times[index] = time;
    items[index] = item;
  }

  /** Takes out the earliest; the heap must not be empty. */
  takeFirst(): number {
    const { times, items } = this;
    const first = items[0]!;
    const size = --this.size;
    const time = times[size]!;
    const item = items[size]!;
    let index = 0;
    for (let child = 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && times[child + 1]! < times[child]!) child++;
      if (time <= times[child]!) break;
      times[index] = times[child]!;
      items[index] = items[child]!;
      index = child;
    }
    times[index] = time;
    items[index] = item;
    return first;
  }
}
