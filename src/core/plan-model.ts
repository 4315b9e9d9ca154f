import type { PlacementRule } from './placement.ts';
import type { UseTable } from './timelines.ts';

/** A use of one row of capacity: how much must be free for a start, and how much is taken until the end. */
export interface RowUse {
  readonly row: number;
  /** For a resource the same as `takes`. A task that conflicts with others needs all of their row and takes none. */
  readonly needs: number;
  readonly takes: number;
}

/** The workers of a plan. Only resources that are limited on some worker are listed. */
export interface PlanPlaces {
  readonly rule: PlacementRule;
  /** For each worker how much of each listed resource it has. */
  readonly capacities: readonly (readonly number[])[];
}

/** Where a task can run, and what it needs there. */
export interface PlanPlace {
  /** The workers that are large enough and have its labels, in order. Tasks with the same ones share the list. */
  readonly workers: readonly number[];
  /** How much of each listed resource it needs. */
  readonly needs: readonly number[];
  /** The worker on which it runs; -1 if it waits, or if its worker takes nothing more. */
  readonly runsOn: number;
  /** The workers on which its ended dependencies ran, one for each dependency. */
  readonly near: readonly number[];
}

/** A task of a plan. Times are in milliseconds from the moment of planning. */
export interface PlanTask {
  readonly durationMs: number;
  /** How long it has been running, or -1. */
  readonly elapsedMs: number;
  /** When it can start at the earliest. */
  readonly readyMs: number;
  /** A task never delays one of a lower tier. */
  readonly tier: number;
  /** List scheduling starts the lowest rank first. */
  readonly rank: number;
  readonly uses: readonly RowUse[];
  /** Indexes of earlier tasks in the list. */
  readonly dependsOn: readonly number[];
  /** If there are workers. */
  readonly place?: PlanPlace;
}

/** Rows of numbers in one array: those of row `i` are at `starts[i]` to `starts[i + 1]`. */
export interface NumberRows {
  readonly starts: Int32Array;
  readonly values: Int32Array;
}

/**
 * What is planned, as arrays of numbers. Everything that limits starts is a row of capacity: slots, resources, limits
 * of tools and groups, locks and conflicts. Rows that can never be short are left out.
 */
export class PlanModel implements UseTable {
  readonly size: number;
  readonly durations: Float64Array;
  /** Remaining durations of running tasks; -1 for the others. */
  readonly remaining: Float64Array;
  /**
   * How much longer something overdue takes, in milliseconds. On one machine it counts as ended. On workers it is about
   * to end, so that what waits for its room may start on another worker.
   */
  readonly leastLeft: number;
  readonly ready: Float64Array;
  readonly tiers: Int32Array;
  readonly tierCount: number;
  readonly ranks: Float64Array;
  readonly before: NumberRows;
  readonly after: NumberRows;
  readonly useStarts: Int32Array;
  readonly useRows: Int32Array;
  readonly useNeeds: Float64Array;
  readonly useTakes: Float64Array;
  /** The rows that are kept, by their index in the given capacities. */
  readonly rows: readonly number[];
  readonly capacities: Float64Array;
  /** The tasks that have not started. */
  readonly waiting: Int32Array;
  /** The longest chain from the start of each task to the end of all that depends on it. */
  readonly paths: Float64Array;
  /** Undefined on one machine. */
  readonly places: PlacedTasks | undefined;

  constructor(tasks: readonly PlanTask[], capacities: readonly number[], places?: PlanPlaces) {
    const size = tasks.length;
    this.size = size;
    this.durations = Float64Array.from(tasks, ({ durationMs }) => durationMs);
    this.leastLeft = places === undefined ? 0 : 1;
    this.remaining = Float64Array.from(tasks, ({ durationMs, elapsedMs }) =>
      elapsedMs < 0 ? -1 : Math.max(this.leastLeft, durationMs - elapsedMs),
    );
    this.ready = Float64Array.from(tasks, ({ readyMs }) => readyMs);
    this.tiers = Int32Array.from(tasks, ({ tier }) => tier);
    this.tierCount = tasks.reduce((most, { tier }) => Math.max(most, tier + 1), 1);
    this.ranks = Float64Array.from(tasks, ({ rank }) => rank);
    const after: number[][] = tasks.map(() => []);
    for (const [index, { dependsOn }] of tasks.entries())
      for (const other of dependsOn) after[other]!.push(index);
    this.before = numberRows(tasks.map(({ dependsOn }) => dependsOn));
    this.after = numberRows(after);
    this.rows = scarceRows(tasks, capacities);
    this.capacities = Float64Array.from(this.rows, (row) => capacities[row]!);
    const placeOf = new Map(this.rows.map((row, place) => [row, place]));
    const uses = tasks.map((task) => task.uses.filter(({ row }) => placeOf.has(row)));
    this.useStarts = new Int32Array(size + 1);
    for (let task = 0; task < size; task++)
      this.useStarts[task + 1] = this.useStarts[task]! + uses[task]!.length;
    const all = uses.flat();
    this.useRows = Int32Array.from(all, ({ row }) => placeOf.get(row)!);
    this.useNeeds = Float64Array.from(all, ({ needs }) => needs);
    this.useTakes = Float64Array.from(all, ({ takes }) => takes);
    const waiting: number[] = [];
    for (let task = 0; task < size; task++) if (this.remaining[task]! < 0) waiting.push(task);
    this.waiting = Int32Array.from(waiting);
    this.paths = this.longestPaths();
    this.places = places && new PlacedTasks(places, tasks);
  }

  /** How long a task still occupies what it uses. */
  leftOf(task: number): number {
    return this.remaining[task]! < 0 ? this.durations[task]! : this.remaining[task]!;
  }

  private longestPaths(): Float64Array {
    const { after } = this;
    const paths = new Float64Array(this.size);
    for (let task = this.size - 1; task >= 0; task--) {
      let behind = 0;
      for (let at = after.starts[task]!; at < after.starts[task + 1]!; at++)
        behind = Math.max(behind, paths[after.values[at]!]!);
      paths[task] = this.leftOf(task) + behind;
    }
    return paths;
  }
}

/** More than all tasks need, where a worker has no limit. */
export const UNLIMITED = 1e15;

/** Where the tasks of a model can run, and what they use there. */
export class PlacedTasks implements UseTable {
  readonly rule: PlacementRule;
  /** How many workers there are, and how many resources are limited on them. */
  readonly workers: number;
  readonly resources: number;
  /** Those of worker `w` begin at `w * resources`. */
  readonly capacities: Float64Array;
  readonly useStarts: Int32Array;
  readonly useRows: Int32Array;
  readonly useNeeds: Float64Array;
  readonly useTakes: Float64Array;
  readonly pools: readonly (readonly number[])[];
  readonly runsOn: Int32Array;
  readonly near: readonly (readonly number[])[];
  /** The least that a waiting task needs of each resource. */
  readonly leastNeeds: Float64Array;

  constructor({ rule, capacities }: PlanPlaces, tasks: readonly PlanTask[]) {
    this.rule = rule;
    this.workers = capacities.length;
    this.resources = capacities[0]?.length ?? 0;
    this.capacities = Float64Array.from(capacities.flat(), (amount) => Math.min(amount, UNLIMITED));
    const places = tasks.map(({ place }) => place!);
    const uses = places.map(({ needs }) => needs.flatMap((need, row) => (need > 0 ? [{ row, need }] : [])));
    this.useStarts = numberRows(uses.map((list) => list.map(({ row }) => row))).starts;
    this.useRows = Int32Array.from(uses.flat(), ({ row }) => row);
    this.useNeeds = Float64Array.from(uses.flat(), ({ need }) => need);
    this.useTakes = this.useNeeds;
    this.pools = places.map(({ workers }) => workers);
    this.runsOn = Int32Array.from(places, ({ runsOn }) => runsOn);
    this.near = places.map(({ near }) => near);
    this.leastNeeds = new Float64Array(this.resources).fill(UNLIMITED);
    for (const { elapsedMs, place } of tasks)
      if (elapsedMs < 0)
        for (const [row, need] of place!.needs.entries())
          this.leastNeeds[row] = Math.min(this.leastNeeds[row]!, need);
  }
}

function numberRows(lists: readonly (readonly number[])[]): NumberRows {
  const starts = new Int32Array(lists.length + 1);
  for (let row = 0; row < lists.length; row++) starts[row + 1] = starts[row]! + lists[row]!.length;
  return { starts, values: Int32Array.from(lists.flat()) };
}

/** The rows that all tasks together could exhaust. */
function scarceRows(tasks: readonly PlanTask[], capacities: readonly number[]): number[] {
  const taken = new Float64Array(capacities.length);
  for (const { uses } of tasks)
    for (const { row, takes, needs } of uses) taken[row]! += Math.max(takes, needs);
  return capacities.flatMap((capacity, row) => (taken[row]! > capacity ? [row] : []));
}

/** No schedule ends earlier, and why. */
export interface PlanBound {
  readonly ms: number;
  /** The longest chain of dependencies. */
  readonly pathMs: number;
  /** For each kept row the work that uses it, divided by its capacity. */
  readonly rowMs: readonly number[];
}

/** The bound for the tasks up to a tier. */
export function boundOf(model: PlanModel, tier = model.tierCount - 1): PlanBound {
  const { size, before, tiers, ready, paths, rows, capacities, useStarts, useRows, useTakes } = model;
  const heads = new Float64Array(size);
  const work = new Float64Array(rows.length);
  const firstHead = new Float64Array(rows.length).fill(Number.POSITIVE_INFINITY);
  const firstTail = new Float64Array(rows.length).fill(Number.POSITIVE_INFINITY);
  let pathMs = 0;
  for (let task = 0; task < size; task++) {
    let head = model.remaining[task]! < 0 ? ready[task]! : 0;
    for (let at = before.starts[task]!; at < before.starts[task + 1]!; at++) {
      const other = before.values[at]!;
      head = Math.max(head, heads[other]! + model.leftOf(other));
    }
    heads[task] = head;
    if (tiers[task]! > tier) continue;
    const left = model.leftOf(task);
    // Paths behind it may lead to a higher tier only if it is the last one.
    const tail = tier === model.tierCount - 1 ? paths[task]! - left : 0;
    pathMs = Math.max(pathMs, head + left + tail);
    for (let use = useStarts[task]!; use < useStarts[task + 1]!; use++) {
      const row = useRows[use]!;
      if (useTakes[use] === 0 || left === 0) continue;
      work[row]! += useTakes[use]! * left;
      firstHead[row] = Math.min(firstHead[row]!, head);
      firstTail[row] = Math.min(firstTail[row]!, tail);
    }
  }
  const rowMs = Array.from(work, (amount, row) =>
    amount === 0 ? 0 : Math.ceil(firstHead[row]! + amount / capacities[row]! + firstTail[row]!),
  );
  return { ms: Math.max(pathMs, ...rowMs), pathMs, rowMs };
}
