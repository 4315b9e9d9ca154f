import { CONCURRENCY, type ResourceVector, SCALE } from './demand.ts';

/** What an index needs to know of a worker, in thousandths. */
export interface IndexedWorker {
  /** What it could take of a resource now. Less than 0 keeps it out of all searches. */
  roomFor(resource: number): number;
  limitOf(resource: number): number;
  usedOf(resource: number): number;
}

/** Loads are compared within this, because bounds are computed in another order than loads. */
const ROUNDING = 1e-9;

/**
 * Finds the least or the most loaded of many workers on which a vector of needs fits, without looking at all of them. It
 * is a binary tree: each node has, for each resource, the most room below it and a bound of the load. A search goes
 * down where the bound is best and leaves out all subtrees that cannot have a better worker. If workers are alike, that
 * is one path; an update always is.
 */
export class WorkerIndex<W extends IndexedWorker> {
  /** The number of leaves, a power of two. Node 1 is the root, and node n has the children 2n and 2n + 1. */
  private readonly width: number;
  private readonly room: Float64Array;
  /** The least or greatest share in use, and the least or greatest share that a thousandth is. */
  private readonly share: Float64Array;
  private readonly unit: Float64Array;
  private best = -1;
  private bestLoad = 0;

  constructor(
    readonly workers: readonly W[],
    private readonly resources: number,
    private readonly wanted: 'least' | 'most',
  ) {
    this.width = 1;
    while (this.width < workers.length) this.width *= 2;
    const size = 2 * this.width * resources;
    this.room = new Float64Array(size);
    this.share = new Float64Array(size);
    this.unit = new Float64Array(size);
    for (let place = workers.length; place < this.width; place++) this.leaveOut(place);
    for (let place = 0; place < workers.length; place++) this.setLeaf(place);
    for (let node = this.width - 1; node > 0; node--) this.combine(node);
  }

  /** Call this when what a worker has or uses has changed. */
  update(place: number): void {
    this.setLeaf(place);
    for (let node = (this.width + place) >> 1; node > 0; node >>= 1) this.combine(node);
  }

  /** The best worker on which the needs fit, the first of equals. `except` is left out. */
  find(needs: ResourceVector, except?: W): W | undefined {
    this.best = -1;
    this.search(1, needs, except);
    return this.best < 0 ? undefined : this.workers[this.best];
  }

  private search(node: number, needs: ResourceVector, except: W | undefined): void {
    if (!this.hasRoom(node, needs)) return;
    if (node >= this.width) {
      const place = node - this.width;
      const worker = this.workers[place]!;
      if (worker === except) return;
      const load = loadAfter(worker, needs);
      if (this.best >= 0 && !this.isBetter(load, place)) return;
      this.best = place;
      this.bestLoad = load;
      return;
    }
    const left = 2 * node;
    const leftBound = this.bound(left, needs);
    const rightBound = this.bound(left + 1, needs);
    const isRightFirst =
      this.wanted === 'least' ? rightBound < leftBound - ROUNDING : rightBound > leftBound + ROUNDING;
    if (isRightFirst) {
      if (this.mayHaveBetter(left + 1, rightBound)) this.search(left + 1, needs, except);
      if (this.mayHaveBetter(left, leftBound)) this.search(left, needs, except);
    } else {
      if (this.mayHaveBetter(left, leftBound)) this.search(left, needs, except);
      if (this.mayHaveBetter(left + 1, rightBound)) this.search(left + 1, needs, except);
    }
  }

  private isBetter(load: number, place: number): boolean {
    if (load === this.bestLoad) return place < this.best;
    return this.wanted === 'least' ? load < this.bestLoad : load > this.bestLoad;
  }

  /** An equal one is better only if it stands before the best. */
  private mayHaveBetter(node: number, bound: number): boolean {
    if (this.best < 0) return true;
    const gain = this.wanted === 'least' ? this.bestLoad - bound : bound - this.bestLoad;
    if (gain > ROUNDING) return true;
    return gain >= -ROUNDING && this.firstPlace(node) < this.best;
  }

  private firstPlace(node: number): number {
    let leaf = node;
    while (leaf < this.width) leaf *= 2;
    return leaf - this.width;
  }

  private hasRoom(node: number, needs: ResourceVector): boolean {
    const { room, resources } = this;
    for (let index = 0, at = node * resources; index < needs.length; index++, at++) {
      const need = needs[index]!;
      if (need > 0 && !(index < resources && room[at]! >= need)) return false;
    }
    return true;
  }

  private bound(node: number, needs: ResourceVector): number {
    const { share, unit, resources } = this;
    let bound = 0;
    for (let index = 0, at = node * resources; index < needs.length && index < resources; index++, at++) {
      const load = share[at]! + needs[index]! * unit[at]!;
      if (load > bound) bound = load;
    }
    return bound;
  }

  private setLeaf(place: number): void {
    const worker = this.workers[place]!;
    const { room, share, unit, resources } = this;
    if (worker.roomFor(CONCURRENCY) < SCALE) {
      this.leaveOut(place);
      return;
    }
    for (let index = 0, at = (this.width + place) * resources; index < resources; index++, at++) {
      const limit = worker.limitOf(index);
      room[at] = worker.roomFor(index);
      share[at] = limit > 0 ? worker.usedOf(index) / limit : 0;
      unit[at] = limit > 0 ? 1 / limit : 0;
    }
  }

  /** Makes a leaf that no search reaches, and that loosens no bound. */
  private leaveOut(place: number): void {
    const from = (this.width + place) * this.resources;
    const isLeast = this.wanted === 'least';
    this.room.fill(-1, from, from + this.resources);
    this.share.fill(isLeast ? Number.POSITIVE_INFINITY : -1, from, from + this.resources);
    this.unit.fill(isLeast ? Number.MAX_VALUE : 0, from, from + this.resources);
  }

  private combine(node: number): void {
    const { room, share, unit, resources, wanted } = this;
    for (let index = 0, at = node * resources; index < resources; index++, at++) {
      const left = at + node * resources;
      const right = left + resources;
      room[at] = Math.max(room[left]!, room[right]!);
      share[at] =
        wanted === 'least' ? Math.min(share[left]!, share[right]!) : Math.max(share[left]!, share[right]!);
      unit[at] =
        wanted === 'least' ? Math.min(unit[left]!, unit[right]!) : Math.max(unit[left]!, unit[right]!);
    }
  }
}

/** The share of its scarcest resource that is in use afterwards. */
export function loadAfter(worker: IndexedWorker, needs: ResourceVector): number {
  let load = 0;
  for (let index = 0; index < needs.length; index++) {
    const limit = worker.limitOf(index);
    if (limit > 0) load = Math.max(load, (worker.usedOf(index) + needs[index]!) / limit);
  }
  return load;
}
