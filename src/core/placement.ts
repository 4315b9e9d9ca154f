import { checkKnown } from './check-known.ts';
import { CONCURRENCY, SCALE } from './demand.ts';
import { ClassQueue, type DemandClass } from './demand-class.ts';
import { VolleyError } from './errors.ts';
import type { Execution } from './execution.ts';
import { checkLabels, type Labels, LOCAL_LABEL, offers, WORKER_LABEL } from './labels.ts';
import { checkObject, show } from './numbers.ts';
import type { ResourceName } from './resource-names.ts';
import { type CountableLimits, ResourceAccounts } from './resources.ts';

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
export interface PlacedWorker {
  readonly id: string;
  readonly labels: Labels;
  readonly limits: readonly number[];
  readonly used: number[];
  /** Takes no new executions. */
  isDraining: boolean;
  /** How many executions may wait on it for room, so that it has the next one at hand. */
  spare: number;
  /** How many were placed on it without room. Each that ends makes room for one of them. */
  waiting: number;
}

/**
 * Knows the workers and what is in use on each. An execution is placed where all of its needs fit at once. There is none
 * while everything runs on one machine, and then nothing of this is asked.
 */
export class WorkerPlacement {
  readonly kind = 'placement';
  /** Classes that fit on no worker now. */
  readonly waiters = new ClassQueue(false);
  readonly workers = new Map<string, PlacedWorker>();
  /** All resources of the scheduler. */
  private accounts = new ResourceAccounts();

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
    this.workers.set(id, {
      id,
      labels,
      limits,
      used: limits.map(() => 0),
      isDraining: false,
      spare: 0,
      waiting: 0,
    });
  }

  /** Lets a worker finish what it has. */
  drain(id: string): void {
    const worker = this.workers.get(id);
    if (worker !== undefined) worker.isDraining = true;
  }

  /** Lets executions wait on a worker. It keeps its own limits, so it starts them only when there is room. */
  setSpare(id: string, spare: number): void {
    const worker = this.workers.get(id);
    if (worker !== undefined) worker.spare = spare;
  }

  /** What a worker offers of each limited resource, and what is placed on it. */
  use(id: string): { readonly name: ResourceName; readonly used: number; readonly limit: number }[] {
    const worker = this.workers.get(id);
    if (worker === undefined) return [];
    return this.accounts.names.all.flatMap((name, index) => {
      const limit = limitOf(worker, index) / SCALE;
      return limit > 0 && Number.isFinite(limit)
        ? [{ name, used: usedOf(worker, index) / SCALE, limit }]
        : [];
    });
  }

  /** Removes a worker. The shell fails what ran on it. */
  leave(id: string): void {
    this.workers.delete(id);
  }

  /** Whether some worker can take an execution of the class now. */
  fits(demand: DemandClass): boolean {
    for (const worker of this.workers.values()) if (fitsOn(worker, demand)) return true;
    return false;
  }

  /** Takes room on the best worker, or on the one that the execution has been on before it lent its room. */
  take(execution: Execution, isBack: boolean): void {
    const { demand } = execution;
    const worker = isBack ? this.workers.get(execution.worker!) : this.choose(execution);
    if (worker === undefined) return;
    execution.worker = worker.id;
    if (!hasRoom(worker, demand.needs)) worker.waiting++;
    for (let index = 0; index < demand.needs.length; index++)
      worker.used[index] = usedOf(worker, index) + demand.needs[index]!;
  }

  giveBack({ worker: id, heldNeeds }: Execution): void {
    const worker = id === undefined ? undefined : this.workers.get(id);
    if (worker === undefined) return;
    if (worker.waiting > 0) worker.waiting--;
    for (let index = 0; index < heldNeeds.length; index++) worker.used[index]! -= heldNeeds[index]!;
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
    if (matching.some((worker) => fitsOn(worker, demand))) return undefined;
    return largestGap(matching, demand.needs, this.accounts.names.all);
  }

  /** The workers that take new executions of this kind: for what stays in this process, only that. */
  candidates({ on }: DemandClass): PlacedWorker[] {
    const isLocal = on?.[LOCAL_LABEL] === true;
    return [...this.workers.values()].filter(
      ({ isDraining, labels }) => !isDraining && (labels[LOCAL_LABEL] === true) === isLocal,
    );
  }

  private choose(execution: Execution): PlacedWorker | undefined {
    const { demand, dependencies } = execution;
    let best: PlacedWorker | undefined;
    let bestNear = 0;
    let bestLoad = 0;
    for (const worker of this.workers.values()) {
      if (!fitsOn(worker, demand)) continue;
      const near = dependencies === undefined ? 0 : countOn(dependencies, worker.id);
      const load = loadAfter(worker, demand.needs);
      const isBetter =
        near !== bestNear ? near > bestNear : this.rule === 'pack' ? load > bestLoad : load < bestLoad;
      if (best !== undefined && !isBetter) continue;
      best = worker;
      bestNear = near;
      bestLoad = load;
    }
    return best;
  }
}

function fitsOn(worker: PlacedWorker, { needs, on }: DemandClass): boolean {
  if (worker.isDraining || (on !== undefined && !offers(worker.labels, on))) return false;
  if (hasRoom(worker, needs)) return true;
  return (
    worker.waiting < worker.spare &&
    needs.every((need, index) => need === 0 || need <= limitOf(worker, index))
  );
}

function hasRoom(worker: PlacedWorker, needs: readonly number[]): boolean {
  for (let index = 0; index < needs.length; index++) {
    const need = needs[index]!;
    if (need > 0 && need > freeOf(worker, index)) return false;
  }
  return true;
}

/** The share of its scarcest resource that is in use afterwards. */
function loadAfter(worker: PlacedWorker, needs: readonly number[]): number {
  let load = 0;
  for (let index = 0; index < needs.length; index++) {
    const limit = limitOf(worker, index);
    if (limit > 0) load = Math.max(load, (usedOf(worker, index) + needs[index]!) / limit);
  }
  return load;
}

function countOn(dependencies: readonly Execution[], worker: string): number {
  let count = 0;
  for (const dependency of dependencies) if (dependency.worker === worker) count++;
  return count;
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
    const never = needs.findIndex((need, index) => need > limitOf(worker, index));
    const fitsOnce = never < 0;
    const index = fitsOnce ? needs.findIndex((need, at) => need > 0 && need > freeOf(worker, at)) : never;
    const isCloser = found === undefined || freeOf(worker, index) > freeOf(found, resource);
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
    free: Math.max(0, freeOf(found!, resource)) / SCALE,
    most: limitOf(found!, resource) / SCALE,
    isPossible,
  };
}

/** A resource that was declared after the worker joined is one that it does not have. */
function limitOf({ limits }: PlacedWorker, index: number): number {
  return limits[index] ?? 0;
}

function usedOf({ used }: PlacedWorker, index: number): number {
  return used[index] ?? 0;
}

function freeOf(worker: PlacedWorker, index: number): number {
  return limitOf(worker, index) - usedOf(worker, index);
}
