import type { NumberRows, PlacedTasks, PlanModel } from './plan-model.ts';
import { Timelines } from './timelines.ts';

const NONE = -1;
/** More neighbors than a task can have. */
const PREFERRED = Number.POSITIVE_INFINITY;

/** The generator for a model: on one machine, or on workers. */
export function scheduleGenerator(model: PlanModel): ScheduleGenerator {
  return model.places === undefined ? new MachineGenerator(model) : new WorkersGenerator(model, model.places);
}

/** Schedule-generation schemes: they turn an order of tasks into a schedule that keeps to every row of capacity. */
export abstract class ScheduleGenerator {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  /** The worker of each task; -1 on one machine. */
  readonly workers: Int32Array;
  /** The worker that each task is placed on if it starts nowhere earlier. */
  preferred: Int32Array | undefined;

  constructor(protected readonly model: PlanModel) {
    this.starts = new Float64Array(model.size);
    this.ends = new Float64Array(model.size);
    this.workers = new Int32Array(model.size).fill(-1);
  }

  /** Forgets all placements. */
  abstract reset(): void;

  /** Lets a running task occupy what it uses until it ends, on a worker if there are some. */
  abstract hold(task: number, untilMs: number, worker: number): void;

  /** Whether anything that waits could fit at the beginning. */
  abstract get hasRoomAtStart(): boolean;

  /** Occupies what a task uses. */
  protected abstract occupy(task: number, fromMs: number, untilMs: number): void;

  /** Places a task at the earliest time after its neighbors, which are placed already. Returns its start. */
  protected abstract placeAfter(task: number, neighbors: NumberRows, readyMs: number): number;

  /** For list scheduling, which looks at one moment only: takes what a task uses, if it is free. */
  protected abstract takeNow(task: number): boolean;
  protected abstract holdNow(task: number): void;
  protected abstract giveBack(task: number): void;

  /** The worker on which a task ran when the model was made; -1 if it did not. */
  protected runsOn(task: number): number {
    return this.model.places?.runsOn[task] ?? -1;
  }

  /** Places a task at the earliest time after those it depends on, which are placed already. Returns its start. */
  place(task: number, readyMs: number): number {
    return this.placeAfter(task, this.model.before, readyMs);
  }

  /** The schedule in which each task of the order starts as early as those before it in the order allow. */
  forward(order: Int32Array): number {
    const { size, remaining, ready } = this.model;
    this.reset();
    if (order.length < size)
      for (let task = 0; task < size; task++)
        if (remaining[task]! >= 0) this.hold(task, remaining[task]!, this.runsOn(task));
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
      this.placeAfter(task, after, 0);
    }
    for (let at = 0; at < order.length; at++) {
      const task = order[at]!;
      starts[task] = endMs - ends[task]!;
      ends[task] = starts[task]! + durations[task]!;
    }
  }

  /** The schedule of list scheduling: whatever fits starts at once, the first of the order first. */
  list(order: Int32Array): number {
    const { size, remaining, before, ready, durations } = this.model;
    const { starts, ends } = this;
    const running: number[] = [];
    this.reset();
    ends.fill(Number.POSITIVE_INFINITY);
    for (let task = 0; task < size; task++) {
      if (remaining[task]! < 0) continue;
      starts[task] = 0;
      ends[task] = remaining[task]!;
      if (remaining[task] === 0) continue;
      running.push(task);
      this.holdNow(task);
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
        if (!this.takeNow(task)) return true;
        starts[task] = now;
        ends[task] = now + durations[task]!;
        end = Math.max(end, ends[task]!);
        running.push(task);
        return false;
      });
      for (const task of running) later = Math.min(later, ends[task]!);
      // Nothing runs and nothing fits: a limit was lowered below a demand.
      if (later === Number.POSITIVE_INFINITY) return later;
      now = later;
      for (let at = running.length - 1; at >= 0; at--) {
        const task = running[at]!;
        if (ends[task]! > now) continue;
        this.giveBack(task);
        running[at] = running[running.length - 1]!;
        running.pop();
      }
    }
    return end;
  }
}

/**
 * On one machine, free capacity over time is a linked list of nodes, one for each moment at which it changes. A start
 * always falls on a node, so placing a task looks only at the nodes while it would run.
 */
class MachineGenerator extends ScheduleGenerator {
  private readonly endNodes: Int32Array;
  private readonly times: Float64Array;
  private readonly next: Int32Array;
  private readonly free: Float64Array;
  private readonly rowCount: number;
  private nodes = 0;
  readonly hasRoomAtStart = true;

  constructor(model: PlanModel) {
    super(model);
    const { size, capacities } = model;
    const nodes = 2 * size + 2;
    this.rowCount = capacities.length;
    this.endNodes = new Int32Array(size);
    this.times = new Float64Array(nodes);
    this.next = new Int32Array(nodes);
    this.free = new Float64Array(nodes * Math.max(1, this.rowCount));
  }

  reset(): void {
    const { capacities } = this.model;
    this.nodes = 1;
    this.times[0] = 0;
    this.next[0] = NONE;
    for (let row = 0; row < this.rowCount; row++) this.free[row] = capacities[row]!;
  }

  hold(task: number, untilMs: number): void {
    this.starts[task] = 0;
    this.ends[task] = untilMs;
    this.endNodes[task] = this.occupy(task, 0, untilMs);
  }

  protected placeAfter(task: number, { starts, values }: NumberRows, readyMs: number): number {
    return this.placeFrom(task, this.firstNode(task, starts, values, readyMs));
  }

  /** What is free now is at the first node. */
  protected takeNow(task: number): boolean {
    const { useStarts, useRows, useNeeds } = this.model;
    for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
      if (this.free[useRows[use]!]! < useNeeds[use]!) return false;
    this.holdNow(task);
    return true;
  }

  protected holdNow(task: number): void {
    const { useStarts, useRows, useTakes } = this.model;
    for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
      this.free[useRows[use]!]! -= useTakes[use]!;
  }

  protected giveBack(task: number): void {
    const { useStarts, useRows, useTakes } = this.model;
    for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++)
      this.free[useRows[use]!]! += useTakes[use]!;
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
  protected occupy(task: number, fromMs: number, untilMs: number): number {
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

/**
 * On workers, a task is placed on one where it starts first. Among those, one on which most of its neighbors are comes
 * first, and then the placement rule decides. What all workers share, such as limits of tools, is one more timeline.
 */
class WorkersGenerator extends ScheduleGenerator {
  private readonly lines: Timelines;
  private readonly shared: Timelines;
  /** What {@link choose} has chosen: a worker, and a node of it that is not later than the start. */
  private chosen = -1;
  private chosenNode = 0;

  constructor(
    model: PlanModel,
    private readonly places: PlacedTasks,
  ) {
    super(model);
    const { workers, resources, capacities, leastNeeds } = places;
    this.lines = new Timelines(workers, resources, capacities, places, leastNeeds);
    const rows = model.capacities.length;
    this.shared = new Timelines(1, rows, model.capacities, model, new Float64Array(rows).fill(-Infinity));
  }

  reset(): void {
    this.lines.reset();
    this.shared.reset();
  }

  hold(task: number, untilMs: number, worker: number): void {
    this.starts[task] = 0;
    this.ends[task] = untilMs;
    this.occupyOn(worker, task, 0, untilMs);
  }

  get hasRoomAtStart(): boolean {
    return this.lines.isOpenAtStart;
  }

  protected occupy(task: number, fromMs: number, untilMs: number): void {
    this.occupyOn(this.runsOn(task), task, fromMs, untilMs);
  }

  private occupyOn(worker: number, task: number, fromMs: number, untilMs: number): void {
    this.workers[task] = worker;
    this.shared.take(0, task, fromMs, untilMs);
    if (worker >= 0) this.lines.take(worker, task, fromMs, untilMs);
  }

  protected placeAfter(task: number, neighbors: NumberRows, readyMs: number): number {
    const { shared, lines, ends } = this;
    const duration = this.model.durations[task]!;
    let startMs = readyMs;
    for (let at = neighbors.starts[task]!; at < neighbors.starts[task + 1]!; at++)
      startMs = Math.max(startMs, ends[neighbors.values[at]!]!);
    for (;;) {
      startMs = shared.fit(0, task, startMs, duration, Number.POSITIVE_INFINITY);
      const onWorkerMs = this.choose(task, neighbors, startMs, duration);
      if (onWorkerMs === startMs) break;
      startMs = onWorkerMs;
    }
    const endMs = startMs + duration;
    this.starts[task] = startMs;
    this.ends[task] = endMs;
    this.workers[task] = this.chosen;
    shared.take(shared.fitNode, task, startMs, endMs);
    lines.take(this.chosenNode, task, startMs, endMs);
    return startMs;
  }

  /** The first nodes are those of the moment. */
  protected takeNow(task: number): boolean {
    if (!this.shared.hasRoom(0, task)) return false;
    const { lines, places, model } = this;
    let bestNear = 0;
    let bestLoad = Number.NaN;
    let chosen = -1;
    for (const worker of places.pools[task]!) {
      if (!lines.hasRoom(worker, task)) continue;
      const near = this.nearby(task, model.before, worker);
      const load = lines.loadAt(worker, worker, task);
      if (chosen >= 0 && !this.isBetter(near, load, bestNear, bestLoad)) continue;
      chosen = worker;
      bestNear = near;
      bestLoad = load;
    }
    this.workers[task] = chosen;
    if (chosen < 0) return false;
    this.change(task, -1);
    return true;
  }

  protected holdNow(task: number): void {
    this.workers[task] = this.runsOn(task);
    this.change(task, -1);
  }

  protected giveBack(task: number): void {
    this.change(task, 1);
  }

  private change(task: number, sign: 1 | -1): void {
    this.shared.change(0, task, sign);
    if (this.workers[task]! >= 0) this.lines.change(this.workers[task]!, task, sign);
  }

  /** Chooses a worker for a task, and returns when it can start there. */
  private choose(task: number, neighbors: NumberRows, fromMs: number, durationMs: number): number {
    const { lines, places } = this;
    let bestMs = Number.POSITIVE_INFINITY;
    let bestNear = 0;
    let bestLoad = Number.NaN;
    for (const worker of places.pools[task]!) {
      const startMs = lines.fit(worker, task, fromMs, durationMs, bestMs);
      if (startMs > bestMs) continue;
      const node = lines.fitNode;
      const near = this.preferred?.[task] === worker ? PREFERRED : this.nearby(task, neighbors, worker);
      const load = lines.loadAt(worker, node, task);
      if (startMs === bestMs && !this.isBetter(near, load, bestNear, bestLoad)) continue;
      bestMs = startMs;
      bestNear = near;
      bestLoad = load;
      this.chosen = worker;
      this.chosenNode = node;
    }
    return bestMs;
  }

  private isBetter(near: number, load: number, bestNear: number, bestLoad: number): boolean {
    if (near !== bestNear) return near > bestNear;
    return this.places.rule === 'spread' ? load < bestLoad : load > bestLoad;
  }

  /** How many neighbors of a task are on a worker. */
  private nearby(task: number, { starts, values }: NumberRows, worker: number): number {
    let count = 0;
    for (const other of this.places.near[task]!) if (other === worker) count++;
    for (let at = starts[task]!; at < starts[task + 1]!; at++)
      if (this.workers[values[at]!] === worker) count++;
    return count;
  }
}
