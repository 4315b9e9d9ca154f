import type { PlanModel } from './plan-model.ts';

const NONE = -1;

/**
 * Schedule-generation schemes: they turn an order of tasks into a schedule that keeps to every row of capacity. Free
 * capacity over time is a linked list of nodes, one for each moment at which it changes. A start always falls on a
 * node, so placing a task looks only at the nodes while it would run.
 */
export class ScheduleGenerator {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  private readonly endNodes: Int32Array;
  private readonly times: Float64Array;
  private readonly next: Int32Array;
  private readonly free: Float64Array;
  private readonly rowCount: number;
  private nodes = 0;

  constructor(private readonly model: PlanModel) {
    const { size, capacities } = model;
    const nodes = 2 * size + 2;
    this.rowCount = capacities.length;
    this.starts = new Float64Array(size);
    this.ends = new Float64Array(size);
    this.endNodes = new Int32Array(size);
    this.times = new Float64Array(nodes);
    this.next = new Int32Array(nodes);
    this.free = new Float64Array(nodes * Math.max(1, this.rowCount));
  }

  /** Forgets all placements. */
  reset(): void {
    const { capacities } = this.model;
    this.nodes = 1;
    this.times[0] = 0;
    this.next[0] = NONE;
    for (let row = 0; row < this.rowCount; row++) this.free[row] = capacities[row]!;
  }

  /** Lets a running task occupy what it uses until it ends. */
  hold(task: number, untilMs: number): void {
    this.starts[task] = 0;
    this.ends[task] = untilMs;
    this.endNodes[task] = this.occupy(task, 0, untilMs);
  }

  /** Places a task at the earliest time after those it depends on, which are placed already. Returns its start. */
  place(task: number, readyMs: number): number {
    const { before } = this.model;
    return this.placeFrom(task, this.firstNode(task, before.starts, before.values, readyMs));
  }

  /** The schedule in which each task of the order starts as early as those before it in the order allow. */
  forward(order: Int32Array): number {
    const { size, remaining, ready } = this.model;
    this.reset();
    if (order.length < size)
      for (let task = 0; task < size; task++) if (remaining[task]! >= 0) this.hold(task, remaining[task]!);
    let end = 0;
    for (let at = 0; at < order.length; at++) {
      this.place(order[at]!, ready[order[at]!]!);
      if (this.ends[order[at]!]! > end) end = this.ends[order[at]!]!;
    }
    return end;
  }

  /** Moves each task of the order as close to the given end as those before it in the order allow. */
  backward(order: Int32Array, endMs: number): void {
    const { size, remaining, after, durations } = this.model;
    const { starts, ends } = this;
    this.reset();
    if (order.length < size)
      for (let task = 0; task < size; task++)
        if (remaining[task]! > 0) this.occupy(task, Math.max(0, endMs - remaining[task]!), endMs);
    for (let at = 0; at < order.length; at++) {
      const task = order[at]!;
      this.placeFrom(task, this.firstNode(task, after.starts, after.values, 0));
    }
    for (let at = 0; at < order.length; at++) {
      const task = order[at]!;
      starts[task] = endMs - ends[task]!;
      ends[task] = starts[task]! + durations[task]!;
    }
  }

  /** The schedule of list scheduling: whatever fits starts at once, the first of the order first. */
  list(order: Int32Array): number {
    const { size, remaining, before, ready, capacities, durations } = this.model;
    const { useStarts, useRows, useNeeds, useTakes } = this.model;
    const { starts, ends } = this;
    const free = Float64Array.from(capacities);
    const running: number[] = [];
    const give = (task: number, sign: 1 | -1) => {
      for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
        free[useRows[use]!]! += sign * useTakes[use]!;
    };
    ends.fill(Number.POSITIVE_INFINITY);
    for (let task = 0; task < size; task++) {
      if (remaining[task]! < 0) continue;
      starts[task] = 0;
      ends[task] = remaining[task]!;
      if (remaining[task] === 0) continue;
      running.push(task);
      give(task, -1);
    }
    let left = Array.from(order);
    let now = 0;
    let end = 0;
    while (left.length > 0) {
      let later = Number.POSITIVE_INFINITY;
      left = left.filter((task) => {
        if (ready[task]! > now) {
          later = Math.min(later, ready[task]!);
          return true;
        }
        for (let at = before.starts[task]!; at < before.starts[task + 1]!; at++)
          if (ends[before.values[at]!]! > now) return true;
        for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
          if (free[useRows[use]!]! < useNeeds[use]!) return true;
        starts[task] = now;
        ends[task] = now + durations[task]!;
        end = Math.max(end, ends[task]!);
        running.push(task);
        give(task, -1);
        return false;
      });
      for (const task of running) later = Math.min(later, ends[task]!);
      // Nothing runs and nothing fits: a limit was lowered below a demand.
      if (later === Number.POSITIVE_INFINITY) return later;
      now = later;
      for (let at = running.length - 1; at >= 0; at--) {
        const task = running[at]!;
        if (ends[task]! > now) continue;
        give(task, 1);
        running[at] = running[running.length - 1]!;
        running.pop();
      }
    }
    return end;
  }

  /** The node at which a task can start at the earliest, by the ends of its neighbors. */
  private firstNode(task: number, rowStarts: Int32Array, neighbors: Int32Array, readyMs: number): number {
    const { times, endNodes } = this;
    let node = 0;
    for (let at = rowStarts[task]!; at < rowStarts[task + 1]!; at++) {
      const other = endNodes[neighbors[at]!]!;
      if (times[other]! > times[node]!) node = other;
    }
    return readyMs > times[node]! ? this.nodeAt(readyMs, node) : node;
  }

  private placeFrom(task: number, node: number): number {
    const { times, next, free, rowCount } = this;
    const { useStarts, useRows, useNeeds, useTakes, durations } = this.model;
    const firstUse = useStarts[task]!;
    const endUse = useStarts[task + 1]!;
    const duration = durations[task]!;
    let begin = node;
    let end = times[begin]! + duration;
    let last = begin;
    for (let at = begin; at !== NONE && times[at]! < end; at = next[at]!) {
      const base = at * rowCount;
      let use = firstUse;
      while (use < endUse && free[base + useRows[use]!]! >= useNeeds[use]!) use++;
      if (use === endUse) {
        last = at;
        continue;
      }
      begin = next[at]!;
      end = times[begin]! + duration;
      last = begin;
    }
    const after = next[last]!;
    const isNode = after !== NONE && times[after] === end;
    const endNode = duration === 0 ? begin : isNode ? after : this.insert(last, end);
    for (let at = begin; at !== endNode; at = next[at]!) {
      const base = at * rowCount;
      for (let use = firstUse; use < endUse; use++) free[base + useRows[use]!]! -= useTakes[use]!;
    }
    this.starts[task] = times[begin]!;
    this.ends[task] = end;
    this.endNodes[task] = endNode;
    return times[begin]!;
  }

  /** Returns the node at the end. */
  private occupy(task: number, fromMs: number, untilMs: number): number {
    const { next, free, rowCount } = this;
    const { useStarts, useRows, useTakes } = this.model;
    const begin = this.nodeAt(fromMs, 0);
    const end = this.nodeAt(untilMs, begin);
    for (let at = begin; at !== end; at = next[at]!)
      for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
        free[at * rowCount + useRows[use]!]! -= useTakes[use]!;
    return end;
  }

  private nodeAt(time: number, from: number): number {
    const { times, next } = this;
    let node = from;
    while (next[node] !== NONE && times[next[node]!]! <= time) node = next[node]!;
    return times[node] === time ? node : this.insert(node, time);
  }

  private insert(after: number, time: number): number {
    const { next, free, rowCount } = this;
    const node = this.nodes++;
    this.times[node] = time;
    next[node] = next[after]!;
    next[after] = node;
    for (let row = 0; row < rowCount; row++) free[node * rowCount + row] = free[after * rowCount + row]!;
    return node;
  }
}
