import { checkKnown } from './check-known.ts';
import { CONCURRENCY, type ResourceVector, SCALE } from './demand.ts';
import { ClassQueue, type DemandClass } from './demand-class.ts';
import { VolleyError } from './errors.ts';
import type { Execution } from './execution.ts';
import { checkLabels, type Labels, LOCAL_LABEL, offers, WORKER_LABEL } from './labels.ts';
import { checkObject, show } from './numbers.ts';
import type { ResourceName } from './resource-names.ts';
import { type CountableLimits, ResourceAccounts } from './resources.ts';
import { type IndexedWorker, loadAfter, WorkerIndex } from './worker-index.ts';

/** A machine on which executions can be placed. */
export interface WorkerSpec {
  /** Unique among the workers. */
  readonly id: string;
  /** What it offers. A built-in resource that is left out is not limited on it; of a named one it has none. */
  readonly capacity?: CountableLimits;
  readonly labels?: Labels;
}

/**
 * Among the workers on which an execution fits: `spread` takes the one that is least loaded afterwards, `pack` the one
 * that is most loaded. A worker on which dependencies of the execution ran comes first under both.
 */
export type PlacementRule = 'spread' | 'pack';

/** Why no worker can take an execution now. */
export type PlacementShortage =
  | { readonly lacks: 'workers' }
  /** No worker has this label; `isDifferent` if some have it with another value. */
  | {
      readonly lacks: 'label';
      readonly label: string;
      readonly wanted: Labels[string];
      readonly isDifferent: boolean;
    }
  /** Each label is offered by some worker, but all of them by none. */
  | { readonly lacks: 'labels'; readonly wanted: Labels }
  /** The matching worker that comes closest has `most` of the resource, and `free` of it free now. */
  | {
      readonly lacks: 'resource';
      readonly worker: string;
      readonly resource: ResourceName;
      readonly needed: number;
      readonly free: number;
      readonly most: number;
      readonly isPossible: boolean;
    };

const WORKER_FIELDS: ReadonlySet<string> = new Set<keyof WorkerSpec>(['id', 'capacity', 'labels']);

/** A worker with what is in use on it, in thousandths, in the order of all resources of the scheduler. */
export class PlacedWorker implements IndexedWorker {
  readonly used: number[] = [];
  /** The executions that hold room on it. */
  readonly holders = new Set<Execution>();
  /** Takes no new executions. */
  isDraining = false;
  /** How many executions may wait on it for room, so that it has the next one at hand. */
  spare = 0;
  /** How many were placed on it without room. Each that ends makes room for one of them. */
  waiting = 0;
  /** As one that takes executions beyond its room. */
  readonly asSpare: SpareWorker = new SpareWorker(this);
  /** The indexes that it is in, and its places there. */
  readonly indexes: { readonly index: WorkerIndex<IndexedWorker>; readonly place: number }[] = [];

  constructor(
    readonly id: string,
    readonly labels: Labels,
    private readonly limits: readonly number[],
  ) {}

  /** The same worker with nothing in use. */
  blank(): PlacedWorker {
    return new PlacedWorker(this.id, this.labels, this.limits);
  }

  /** A resource that was declared after the worker joined is one that it does not have. */
  limitOf(resource: number): number {
    return this.limits[resource] ?? 0;
  }

  usedOf(resource: number): number {
    return this.used[resource] ?? 0;
  }

  roomFor(resource: number): number {
    return this.isDraining ? -1 : this.limitOf(resource) - this.usedOf(resource);
  }

  /** Whether it has all of this at once. */
  hasRoom(needs: ResourceVector): boolean {
    return needs.every((need, index) => need === 0 || need <= this.roomFor(index));
  }

  /** Whether it would have all of this if nothing were in use. */
  isLargeEnough(needs: ResourceVector): boolean {
    return !this.isDraining && needs.every((need, index) => need === 0 || need <= this.limitOf(index));
  }

  get hasSpare(): boolean {
    return !this.isDraining && this.waiting < this.spare;
  }

  /** Changes what is in use on it. */
  add(needs: ResourceVector, sign: 1 | -1): void {
    for (let index = 0; index < needs.length; index++)
      this.used[index] = this.usedOf(index) + sign * needs[index]!;
    this.changed();
  }

  changed(): void {
    for (const { index, place } of this.indexes) index.update(place);
  }
}

/** A worker as one that takes executions beyond its room. */
class SpareWorker implements IndexedWorker {
  constructor(readonly worker: PlacedWorker) {}

  limitOf(resource: number): number {
    return this.worker.limitOf(resource);
  }

  usedOf(resource: number): number {
    return this.worker.usedOf(resource);
  }

  roomFor(resource: number): number {
    return this.worker.hasSpare ? this.worker.limitOf(resource) : -1;
  }
}

/** The workers that have the same wanted labels. Wishes that the same workers meet share a pool. */
interface Pool {
  readonly workers: readonly PlacedWorker[];
  readonly byRoom: WorkerIndex<PlacedWorker>;
  readonly bySpare: WorkerIndex<SpareWorker>;
}

/** Everything that needs the same on workers with the same labels: if one of the executions does not fit, none does. */
export class Shape {
  readonly waiters = new ClassQueue(true);
  /** Of the given generation of workers. */
  pool: Pool | undefined;
  generation = -1;
  /** Whether one of them is large enough. */
  isPossible = false;

  constructor(
    readonly needs: ResourceVector,
    readonly on: Labels | undefined,
  ) {}

  fitsOn(worker: PlacedWorker): boolean {
    if (this.on !== undefined && !offers(worker.labels, this.on)) return false;
    return worker.hasRoom(this.needs) || (worker.hasSpare && worker.isLargeEnough(this.needs));
  }
}

/** The most shapes and pools that are remembered. */
const MAX_SHAPES = 1000;
const MAX_POOLS = 256;
/** Shapes without waiters that are kept in the list of those to wake. */
const MAX_EMPTY = 8;
/** Beyond this many executions times workers, list scheduling stays in charge. A draft takes about 1 µs for each. */
const MAX_PLANNED_PLACES = 16_000;
/** How many workers are compared to find the one on which a reserved execution can start first. */
const MAX_COMPARED = 8;

/**
 * Knows the workers and what is in use on each. An execution is placed where all of its needs fit at once. There is none
 * while everything runs on one machine, and then nothing of this is asked.
 *
 * Neither a start nor an end looks at all workers: a start searches a {@link WorkerIndex}, and an end asks only which
 * shapes now fit on the worker it was on.
 */
export class WorkerPlacement {
  readonly kind = 'placement';
  readonly workers = new Map<string, PlacedWorker>();
  /** All resources of the scheduler. */
  private accounts = new ResourceAccounts();
  /** Increases with every worker that joins, drains or leaves. */
  private generation = 0;
  private pools = new Map<string, Pool>();
  private shapes = new Map<string, Shape>();
  /** The shapes that may have waiters. */
  private readonly waiting = new Set<Shape>();
  private maxWaiting = MAX_EMPTY;

  constructor(readonly rule: PlacementRule = 'spread') {
    if (rule !== 'spread' && rule !== 'pack')
      throw new VolleyError(
        'INVALID_VALUE',
        `The placement must be "spread" or "pack", but it is ${show(rule)}.`,
      );
  }

  /** Call it before a worker joins. */
  useAccounts(accounts: ResourceAccounts): void {
    this.accounts = accounts;
  }

  /** Adds a worker. It can come back under the same id after it has left. */
  join(spec: WorkerSpec): void {
    checkObject('A worker', spec);
    checkKnown('field of a worker', spec, WORKER_FIELDS);
    const { id, capacity = {}, labels = {} } = spec;
    if (typeof id !== 'string' || id === '' || this.workers.has(id))
      throw new VolleyError('INVALID_VALUE', `A worker needs an id of its own, but it is ${show(id)}.`, {
        id,
      });
    checkObject('The capacity of a worker', capacity);
    checkLabels('The labels of a worker', labels);
    const { accounts } = this;
    // It checks all amounts, and knows where each resource stands.
    const own = new ResourceAccounts(capacity);
    const named = Object.keys(capacity.resources ?? {});
    const fresh = named.filter((name) => !accounts.names.named.has(name));
    accounts.setLimits({
      resources: Object.fromEntries(fresh.map((name) => [name, Number.POSITIVE_INFINITY])),
    });
    const limits = own.limits.slice(0, own.limits.length - own.names.named.size);
    for (const [name, index] of accounts.names.named)
      limits[index] = own.limits[own.names.named.get(name) ?? -1] ?? 0;
    this.workers.set(id, new PlacedWorker(id, labels, limits));
    this.workersChanged();
  }

  /** Lets a worker finish what it has. */
  drain(id: string): void {
    const worker = this.workers.get(id);
    if (worker === undefined) return;
    worker.isDraining = true;
    this.workersChanged();
  }

  /** Removes a worker. The shell fails what ran on it. */
  leave(id: string): void {
    if (this.workers.delete(id)) this.workersChanged();
  }

  /** Lets executions wait on a worker. It keeps its own limits, so it starts them only when there is room. */
  setSpare(id: string, spare: number): void {
    const worker = this.workers.get(id);
    if (worker === undefined) return;
    worker.spare = spare;
    worker.changed();
  }

  /** What a worker offers of each limited resource, and what is placed on it. */
  use(id: string): { readonly name: ResourceName; readonly used: number; readonly limit: number }[] {
    const worker = this.workers.get(id);
    if (worker === undefined) return [];
    return this.accounts.names.all.flatMap((name, index) => {
      const limit = worker.limitOf(index) / SCALE;
      return limit > 0 && Number.isFinite(limit) ? [{ name, used: worker.usedOf(index) / SCALE, limit }] : [];
    });
  }

  /** Whether some worker can take an execution of the class now. `except` is left out. */
  fits(demand: DemandClass, except?: PlacedWorker): boolean {
    return this.search(this.shapeOf(demand), except) !== undefined;
  }

  /** Whether some worker could take an execution of the class if nothing were in use. */
  isPossible(demand: DemandClass): boolean {
    const shape = this.shapeOf(demand);
    this.poolOf(shape);
    return shape.isPossible;
  }

  /** The workers that could take an execution of the class if nothing were in use. */
  largeEnough(demand: DemandClass): PlacedWorker[] {
    const { workers } = this.poolOf(this.shapeOf(demand));
    return workers.filter((worker) => worker.isLargeEnough(demand.needs));
  }

  /**
   * Whether starts of so many executions on the workers can be planned. While calls are so short that some of them wait on workers, handing
   * them out at once gains more.
   */
  allowsPlan(executions: number): boolean {
    if (executions * this.workers.size > MAX_PLANNED_PLACES) return false;
    for (const { spare } of this.workers.values()) if (spare > 0) return false;
    return true;
  }

  /** Where classes wait that fit on no worker now. */
  waitersLike(demand: DemandClass): ClassQueue {
    const shape = this.shapeOf(demand);
    if (!this.waiting.has(shape)) {
      if (this.waiting.size >= this.maxWaiting) this.dropEmpty();
      this.waiting.add(shape);
    }
    return shape.waiters;
  }

  /** The queues in which classes wait: all, or those that fit on a worker now. */
  waitersFor(worker?: string): ClassQueue[] {
    const queues: ClassQueue[] = [];
    const freed = worker === undefined ? undefined : this.workers.get(worker);
    if (freed === undefined && worker !== undefined) return queues;
    for (const shape of this.waiting)
      if (shape.waiters.size > 0 && (freed === undefined || shape.fitsOn(freed))) queues.push(shape.waiters);
    return queues;
  }

  /** Takes room on the best worker but `except`, or on the one that the execution has been on before it lent its room. */
  take(execution: Execution, isBack: boolean, except?: PlacedWorker): void {
    const worker = isBack ? this.workers.get(execution.worker!) : this.choose(execution, except);
    if (worker !== undefined) this.takeOn(worker, execution);
  }

  /** Takes room on a worker, whether it has it or not. */
  takeOn(worker: PlacedWorker, execution: Execution): void {
    const { needs } = execution.demand;
    execution.worker = worker.id;
    worker.holders.add(execution);
    if (!worker.hasRoom(needs)) worker.waiting++;
    worker.add(needs, 1);
  }

  giveBack(execution: Execution): void {
    const worker = this.workerOf(execution);
    // One that has left and returned knows nothing of it.
    if (worker?.holders.delete(execution) !== true) return;
    if (worker.waiting > 0) worker.waiting--;
    worker.add(execution.heldNeeds, -1);
  }

  /** Whether the execution may take back what it lent. If its worker has left, nothing stops it. */
  mayResume(execution: Execution): boolean {
    const worker = this.workerOf(execution);
    if (worker === undefined) return true;
    const isFree = (need: number, index: number) =>
      need === 0 || worker.usedOf(index) === 0 || worker.usedOf(index) + need <= worker.limitOf(index);
    return execution.demand.needs.every(isFree);
  }

  workerOf({ worker: id }: Execution): PlacedWorker | undefined {
    return id === undefined ? undefined : this.workers.get(id);
  }

  /**
   * The worker to keep room on for an execution that fits on none: the one on which it can start first by `startOn`, among
   * those that lack the least.
   */
  bestToReserve({ demand }: Execution, startOn: (worker: PlacedWorker) => number): PlacedWorker | undefined {
    const { needs } = demand;
    const gapOn = (worker: PlacedWorker) =>
      needs.reduce((gap, need, index) => {
        const short = need - worker.roomFor(index);
        return need > 0 && short > 0 ? Math.max(gap, short / worker.limitOf(index)) : gap;
      }, 0);
    const { workers } = this.poolOf(this.shapeOf(demand));
    const closest = workers
      .filter((worker) => worker.isLargeEnough(needs))
      .map((worker) => ({ worker, gap: gapOn(worker) }))
      .sort((a, b) => a.gap - b.gap)
      .slice(0, MAX_COMPARED)
      .map(({ worker, gap }) => ({
        worker,
        gap,
        at: gap === 0 ? Number.NEGATIVE_INFINITY : startOn(worker),
      }));
    return closest.sort((a, b) => a.at - b.at || a.gap - b.gap)[0]?.worker;
  }

  /** How many executions all workers may run at once. */
  get slots(): number {
    let slots = 0;
    for (const worker of this.workers.values())
      if (!worker.isDraining) slots += worker.limitOf(CONCURRENCY) / SCALE;
    return slots;
  }

  /** One in `step` of the workers that take executions. */
  sample(step: number): PlacedWorker[] {
    return [...this.workers.values()]
      .filter(({ isDraining }) => !isDraining)
      .filter((_, index) => index % step === 0);
  }

  /** Adds workers of another placement, with nothing in use on them. */
  copyWorkers(workers: readonly PlacedWorker[]): void {
    for (const worker of workers) this.workers.set(worker.id, worker.blank());
    this.workersChanged();
  }

  /** Adds a worker with exactly what the class needs, if no worker has enough. */
  makePossible(demand: DemandClass): void {
    if (this.isPossible(demand)) return;
    const id = `needed ${this.workers.size}`;
    this.workers.set(id, new PlacedWorker(id, demand.on ?? {}, demand.needs));
    this.workersChanged();
  }

  /** What is missing for executions of the class; undefined if one could start. */
  shortage(demand: DemandClass): PlacementShortage | undefined {
    const wanted = demand.on ?? {};
    const workers = this.candidates(demand);
    if (workers.length === 0) return { lacks: 'workers' };
    for (const [label, value] of Object.entries(wanted)) {
      if (workers.some(({ labels }) => labels[label] === value)) continue;
      const isDifferent = workers.some(({ labels }) => labels[label] !== undefined);
      return { lacks: 'label', label, wanted: value, isDifferent };
    }
    const matching = workers.filter(({ labels }) => offers(labels, wanted));
    if (matching.length === 0) return { lacks: 'labels', wanted };
    if (this.fits(demand)) return undefined;
    return largestGap(matching, demand.needs, this.accounts.names.all);
  }

  /** The workers that take new executions of this kind: for what stays in this process, only that. */
  candidates({ on }: DemandClass): PlacedWorker[] {
    const isLocal = on?.[LOCAL_LABEL] === true;
    return [...this.workers.values()].filter(
      ({ isDraining, labels }) => !isDraining && (labels[LOCAL_LABEL] === true) === isLocal,
    );
  }

  private choose(execution: Execution, except: PlacedWorker | undefined): PlacedWorker | undefined {
    const shape = this.shapeOf(execution.demand);
    return this.nearest(execution, shape, except) ?? this.search(shape, except);
  }

  /** The worker on which most of its dependencies ran, if it fits there. */
  private nearest(
    { dependencies }: Execution,
    shape: Shape,
    except: PlacedWorker | undefined,
  ): PlacedWorker | undefined {
    if (dependencies === undefined) return undefined;
    const counts = new Map<string, number>();
    for (const { worker } of dependencies)
      if (worker !== undefined) counts.set(worker, (counts.get(worker) ?? 0) + 1);
    let best: PlacedWorker | undefined;
    let bestCount = 0;
    for (const [id, count] of counts) {
      const worker = this.workers.get(id);
      if (worker === undefined || worker === except || count < bestCount || !shape.fitsOn(worker)) continue;
      if (best !== undefined && count === bestCount && !this.isBetter(worker, best, shape.needs)) continue;
      best = worker;
      bestCount = count;
    }
    return best;
  }

  private isBetter(worker: PlacedWorker, other: PlacedWorker, needs: ResourceVector): boolean {
    const gain = loadAfter(other, needs) - loadAfter(worker, needs);
    return this.rule === 'spread' ? gain > 0 : gain < 0;
  }

  /** A worker that has room goes before one that lets executions wait. */
  private search(shape: Shape, except: PlacedWorker | undefined): PlacedWorker | undefined {
    const { byRoom, bySpare } = this.poolOf(shape);
    return byRoom.find(shape.needs, except) ?? bySpare.find(shape.needs, except?.asSpare)?.worker;
  }

  private shapeOf(demand: DemandClass): Shape {
    if (demand.shape !== undefined) return demand.shape;
    const { needs, on } = demand;
    const key = `${needs.join()} ${labelsKey(on)}`;
    let shape = this.shapes.get(key);
    if (shape === undefined) {
      if (this.shapes.size >= MAX_SHAPES) this.shapes.clear();
      shape = new Shape(needs, on);
      this.shapes.set(key, shape);
    }
    demand.shape = shape;
    return shape;
  }

  private poolOf(shape: Shape): Pool {
    if (shape.pool !== undefined && shape.generation === this.generation) return shape.pool;
    const { on = {}, needs } = shape;
    const workers = [...this.workers.values()].filter(
      ({ isDraining, labels }) => !isDraining && offers(labels, on),
    );
    shape.pool = this.poolWith(workers);
    shape.generation = this.generation;
    shape.isPossible = workers.some((worker) => worker.isLargeEnough(needs));
    return shape.pool;
  }

  private poolWith(workers: readonly PlacedWorker[]): Pool {
    const resources = this.accounts.names.all.length;
    const key = `${resources} ${workers.map(({ id }) => id).join('\n')}`;
    let pool = this.pools.get(key);
    if (pool !== undefined) return pool;
    if (this.pools.size >= MAX_POOLS) this.workersChanged();
    const byRoom = new WorkerIndex(workers, resources, this.rule === 'pack' ? 'most' : 'least');
    const bySpare = new WorkerIndex(
      workers.map(({ asSpare }) => asSpare),
      resources,
      'least',
    );
    for (const [place, worker] of workers.entries())
      worker.indexes.push({ index: byRoom, place }, { index: bySpare, place });
    pool = { workers, byRoom, bySpare };
    this.pools.set(key, pool);
    return pool;
  }

  /** Pools are made again when they are needed. */
  private workersChanged(): void {
    this.generation++;
    this.pools.clear();
    for (const { indexes } of this.workers.values()) indexes.length = 0;
  }

  private dropEmpty(): void {
    for (const shape of this.waiting) if (shape.waiters.size === 0) this.waiting.delete(shape);
    this.maxWaiting = Math.max(MAX_EMPTY, 2 * this.waiting.size);
  }
}

function labelsKey(labels: Labels = {}): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The resource that keeps the execution from the worker that could take most of it. */
function largestGap(
  workers: readonly PlacedWorker[],
  needs: readonly number[],
  names: readonly ResourceName[],
): PlacementShortage {
  let isPossible = false;
  let resource = CONCURRENCY;
  let found: PlacedWorker | undefined;
  for (const worker of workers) {
    const never = needs.findIndex((need, index) => need > worker.limitOf(index));
    const fitsOnce = never < 0;
    const index = fitsOnce ? needs.findIndex((need, at) => need > 0 && need > worker.roomFor(at)) : never;
    const isCloser = found === undefined || worker.roomFor(index) > found.roomFor(resource);
    if (fitsOnce === isPossible ? !isCloser : isPossible) continue;
    isPossible = fitsOnce;
    resource = index;
    found = worker;
  }
  return {
    lacks: 'resource',
    worker: String(found!.labels[WORKER_LABEL] ?? found!.id),
    resource: names[resource]!,
    needed: needs[resource]! / SCALE,
    free: Math.max(0, found!.roomFor(resource)) / SCALE,
    most: found!.limitOf(resource) / SCALE,
    isPossible,
  };
}
