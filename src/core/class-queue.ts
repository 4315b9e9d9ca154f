import type { DemandClass } from './demand-class.ts';
import { IndexedHeap } from './heap.ts';

/** Classes that contend, or that something keeps out: the one with the most urgent execution first. */
export class ClassQueue extends IndexedHeap<DemandClass> {
  constructor(
    /** Whether all are kept out for the same reason: where the first may not pass, none may. */
    readonly isUniform: boolean,
  ) {
    super();
  }

  add(demand: DemandClass): void {
    demand.standsIn = this;
    this.insert(demand, demand.headRank);
  }

  override remove(demand: DemandClass): void {
    super.remove(demand);
    demand.standsIn = undefined;
  }

  /** Call it when another execution of the class has become its first. */
  headChanged(demand: DemandClass): void {
    this.update(demand, demand.headRank);
  }

  protected override winsTie(a: DemandClass, b: DemandClass): boolean {
    return a.head!.seq < b.head!.seq;
  }

  protected override indexOf(item: DemandClass): number {
    return item.place;
  }

  protected override setIndex(item: DemandClass, index: number): void {
    item.place = index;
  }
}

/** So many amounts are remembered that nobody needs now. */
const MOST_EMPTY = 8;

/** Too little of a resource for some classes, apart by how much they need: those who need as much wait together. */
export class Shortage {
  readonly kind = 'resource';
  readonly queues = new Map<number, ClassQueue>();

  constructor(readonly index: number) {}

  waitersLike(demand: DemandClass): ClassQueue {
    const need = demand.needs[this.index]!;
    let queue = this.queues.get(need);
    if (queue === undefined) {
      if (this.queues.size >= MOST_EMPTY) this.dropEmpty();
      queue = new ClassQueue(true);
      this.queues.set(need, queue);
    }
    return queue;
  }

  private dropEmpty(): void {
    for (const [need, queue] of this.queues) if (queue.size === 0) this.queues.delete(need);
  }
}
