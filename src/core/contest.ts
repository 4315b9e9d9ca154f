import { ClassQueue, type DemandClass } from './demand-class.ts';
import { IndexedHeap } from './heap.ts';
import { goesBefore } from './ready-queue.ts';

/**
 * Tracks every class that has queued executions: either it may fit, or it waits with the obstacle that blocks it and is
 * not looked at again until that changes. Classes blocked by the same obstacle wake as one, represented by their most
 * urgent execution. If that one is blocked again, so are the others, so the cost of a release does not grow with their
 * number.
 */
export class Contest {
  /** By the index of the resource, as far as any was short. */
  readonly shortages: Shortage[] = [];
  /** Classes with no known obstacle. */
  readonly free = new ClassQueue(false);
  /** Queues of classes that shared an obstacle and may pass now. */
  readonly woken = new WokenQueues();
  /** The number of blocked classes. Usually zero, and then a release has nothing to wake. */
  keptOut = 0;

  /** The class with the most urgent execution among those that may pass. */
  first(): DemandClass | undefined {
    const free = this.free.peek();
    const woken = this.woken.peek()?.peek();
    if (woken === undefined || free === undefined) return free ?? woken;
    return goesBefore(woken.head!, free.head!) ? woken : free;
  }

  /** Wakes the classes in the queue. */
  wake(waiters: ClassQueue): void {
    if (waiters.size === 0) return;
    if (!waiters.isUniform) while (waiters.size > 0) this.move(waiters.peek()!, this.free);
    else if (waiters.place < 0) this.woken.insert(waiters, waiters.firstKey);
  }

  /** The shortage of a resource, by its index. */
  shortage(index: number): Shortage {
    const { shortages } = this;
    while (shortages.length <= index) shortages.push(new Shortage(shortages.length));
    return shortages[index]!;
  }

  /** Wakes the classes that were short of a resource, after some of it was released. */
  wakeShort(index: number): void {
    if (index >= this.shortages.length) return;
    const { queues } = this.shortages[index]!;
    if (queues.size > 0) for (const queue of queues.values()) this.wake(queue);
  }

  wakeAllShort(): void {
    for (let index = 0; index < this.shortages.length; index++) this.wakeShort(index);
  }

  /**
   * Moves a class to the queue of its obstacle. If it woke with its whole queue and meets the same obstacle, the whole
   * queue goes back.
   */
  keepOut(demand: DemandClass, waiters: ClassQueue): void {
    if (demand.standsIn === waiters) this.woken.remove(waiters);
    else this.move(demand, waiters);
  }

  /** Lets one class contend again. */
  readmit(demand: DemandClass): void {
    this.move(demand, this.free);
  }

  /** Updates a class's position after its queue changed. */
  reorder(demand: DemandClass): void {
    const head = demand.queue.peek();
    const { headRank } = demand.queue;
    if (head === demand.head && (head === undefined || headRank === demand.headRank)) return;
    const { standsIn } = demand;
    demand.setHead(head, headRank);
    if (standsIn === undefined) {
      this.free.add(demand);
    } else if (head === undefined) {
      this.leave(demand, standsIn);
    } else {
      standsIn.headChanged(demand);
      this.firstChanged(standsIn);
    }
  }

  /** All classes that may pass. */
  *[Symbol.iterator](): Iterator<DemandClass> {
    yield* this.free;
    for (const queue of this.woken) yield* queue;
  }

  private move(demand: DemandClass, to: ClassQueue): void {
    this.leave(demand, demand.standsIn!);
    to.add(demand);
    if (to === this.free) return;
    this.keptOut++;
    this.firstChanged(to);
  }

  private leave(demand: DemandClass, from: ClassQueue): void {
    from.remove(demand);
    if (from === this.free) return;
    this.keptOut--;
    this.firstChanged(from);
  }

  /** Updates the queue's position among the woken queues, if it is one of them. */
  private firstChanged(queue: ClassQueue): void {
    if (queue.place < 0) return;
    if (queue.size === 0) this.woken.remove(queue);
    else this.woken.update(queue, queue.firstKey);
  }
}

/** Woken queues, ordered by their most urgent execution. */
class WokenQueues extends IndexedHeap<ClassQueue> {
  protected override winsTie(a: ClassQueue, b: ClassQueue): boolean {
    return a.peek()!.head!.seq < b.peek()!.head!.seq;
  }

  protected override indexOf(queue: ClassQueue): number {
    return queue.place;
  }

  protected override setIndex(queue: ClassQueue, index: number): void {
    queue.place = index;
  }
}

/** Empty queues kept per resource before they are dropped. */
const MAX_EMPTY = 8;

/** The classes blocked by a shortage of one resource, grouped by the amount they need. */
export class Shortage {
  readonly kind = 'resource';
  readonly queues = new Map<number, ClassQueue>();
  /** Empty queues are dropped at this size; then it is set to twice the number in use. */
  private maxQueues = MAX_EMPTY;

  constructor(readonly index: number) {}

  waitersLike(demand: DemandClass): ClassQueue {
    const need = demand.needs[this.index]!;
    let queue = this.queues.get(need);
    if (queue === undefined) {
      if (this.queues.size >= this.maxQueues) this.dropEmpty();
      queue = new ClassQueue(true);
      this.queues.set(need, queue);
    }
    return queue;
  }

  private dropEmpty(): void {
    for (const [need, queue] of this.queues) if (queue.size === 0) this.queues.delete(need);
    this.maxQueues = Math.max(MAX_EMPTY, 2 * this.queues.size);
  }
}
