const NONE = -1;

/** What tasks use of rows of capacity: those of task `t` are at `useStarts[t]` to `useStarts[t + 1]`. */
export interface UseTable {
  readonly useStarts: Int32Array;
  readonly useRows: Int32Array;
  /** How much must be free for a start, and how much is taken until the end. */
  readonly useNeeds: Float64Array;
  readonly useTakes: Float64Array;
}

/**
 * Free capacity over time, for several workers. Each has a linked list of nodes, one for each moment at which what is
 * free on it changes. Node `i` is the first one of worker `i`.
 */
export class Timelines {
  /** The node at which the last {@link fit} begins, or the one before. */
  fitNode = 0;
  private readonly times: Float64Array;
  private readonly next: Int32Array;
  private readonly free: Float64Array;
  private nodes = 0;
  /** The first node of each worker at which anything could begin: what is free only becomes less. */
  private readonly open: Int32Array;

  constructor(
    private readonly count: number,
    private readonly rows: number,
    /** Those of worker `i` begin at `i * rows`. */
    private readonly capacities: Float64Array,
    private readonly uses: UseTable,
    /** What each task needs at least, so that a search can leave out what is full. */
    private readonly leastNeeds: Float64Array,
  ) {
    const nodes = count + 2 * (uses.useStarts.length - 1);
    this.times = new Float64Array(nodes);
    this.next = new Int32Array(nodes);
    this.open = new Int32Array(count);
    this.free = new Float64Array(nodes * rows);
  }

  /** Forgets all that was taken. */
  reset(): void {
    this.nodes = this.count;
    this.times.fill(0, 0, this.count);
    this.next.fill(NONE, 0, this.count);
    for (let worker = 0; worker < this.count; worker++) this.open[worker] = worker;
    this.free.set(this.capacities);
  }

  /**
   * The earliest time from `fromMs` at which the needs of a task are free on a worker for so long; Infinity if that is
   * later than `limitMs`. The worker must be large enough.
   */
  fit(worker: number, task: number, fromMs: number, durationMs: number, limitMs: number): number {
    const { times, next } = this;
    if (this.rows === 0) return fromMs;
    let node = durationMs === 0 ? worker : this.firstOpen(worker);
    if (times[node]! > limitMs) return Number.POSITIVE_INFINITY;
    while (next[node] !== NONE && times[next[node]!]! <= fromMs) node = next[node]!;
    let beginMs = Math.max(fromMs, times[node]!);
    this.fitNode = node;
    if (durationMs === 0) return beginMs;
    while (node !== NONE && times[node]! < beginMs + durationMs) {
      if (this.hasRoom(node, task)) {
        node = next[node]!;
        continue;
      }
      node = next[node]!;
      if (node === NONE || times[node]! > limitMs) return Number.POSITIVE_INFINITY;
      beginMs = times[node]!;
      this.fitNode = node;
    }
    return beginMs;
  }

  /** Takes what a task uses. `near` is a node of the worker that is not later than its begin. */
  take(near: number, task: number, beginMs: number, endMs: number): void {
    if (endMs <= beginMs || this.rows === 0) return;
    const begin = this.nodeAt(near, beginMs);
    const end = this.nodeAt(begin, endMs);
    for (let node = begin; node !== end; node = this.next[node]!) this.change(node, task, -1);
  }

  /** The share of its scarcest row that is in use at a node of a worker, with the task. */
  loadAt(worker: number, node: number, task: number): number {
    const { rows, free } = this;
    const { useStarts, useRows, useTakes } = this.uses;
    let load = 0;
    for (let row = 0; row < rows; row++)
      load = Math.max(load, this.shareOf(worker, row, free[node * rows + row]!));
    for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++) {
      const row = useRows[use]!;
      load = Math.max(load, this.shareOf(worker, row, free[node * rows + row]! - useTakes[use]!));
    }
    return load;
  }

  /** Whether something could begin now on one of the workers. */
  get isOpenAtStart(): boolean {
    for (let worker = 0; worker < this.count; worker++) if (this.hasLeast(worker)) return true;
    return false;
  }

  private firstOpen(worker: number): number {
    let node = this.open[worker]!;
    while (!this.hasLeast(node) && this.next[node] !== NONE) node = this.next[node]!;
    this.open[worker] = node;
    return node;
  }

  private hasLeast(node: number): boolean {
    const { rows, free, leastNeeds } = this;
    for (let row = 0; row < rows; row++) if (free[node * rows + row]! < leastNeeds[row]!) return false;
    return true;
  }

  private shareOf(worker: number, row: number, free: number): number {
    const capacity = this.capacities[worker * this.rows + row]!;
    return capacity > 0 ? (capacity - free) / capacity : 0;
  }

  /** Takes or gives back at a node what a task uses. */
  change(node: number, task: number, sign: 1 | -1): void {
    const { useStarts, useRows, useTakes } = this.uses;
    for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
      this.free[node * this.rows + useRows[use]!]! += sign * useTakes[use]!;
  }

  hasRoom(node: number, task: number): boolean {
    const { rows, free } = this;
    const { useStarts, useRows, useNeeds } = this.uses;
    for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
      if (free[node * rows + useRows[use]!]! < useNeeds[use]!) return false;
    return true;
  }

  private nodeAt(from: number, timeMs: number): number {
    const { times, next, free, rows } = this;
    let node = from;
    while (next[node] !== NONE && times[next[node]!]! <= timeMs) node = next[node]!;
    if (times[node] === timeMs) return node;
    const added = this.nodes++;
    times[added] = timeMs;
    next[added] = next[node]!;
    next[node] = added;
    free.copyWithin(added * rows, node * rows, (node + 1) * rows);
    return added;
  }
}
