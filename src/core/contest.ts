import { RESOURCE_NAMES } from './demand.ts';
import { ClassQueue, type DemandClass } from './demand-class.ts';
import { IndexedHeap } from './heap.ts';
import { goesBefore } from './ready-queue.ts';

/**
 * Where every class with a queue stands: among those that may fit, or with whatever keeps it out, and then it is not
 * looked at again until that changes. Where many are kept out alike, they come back as one, with the most urgent of them
 * for all: if that one is kept out again, so are the others, and the cost of an end does not grow with their number.
 */
export class Contest {
  readonly shortages = RESOURCE_NAMES.map((_, index) => new Shortage(index));
  /** Those that nothing is known to keep out. */
  readonly free = new ClassQueue(false);
  /** Those that were kept out alike and may pass now. */
  readonly woken = new WokenQueues();
  /** How many classes stand with something that keeps them out. Most often none, and then an end has nobody to wake. */
  keptOut = 0;

  /** The class whose first execution goes before all others that may pass. */
  first(): DemandClass | undefined {
    const free = this.free.peek();
    const woken = this.woken.peek()?.peek();
    if (woken === undefined || free === undefined) return free ?? woken;
    return goesBefore(woken.head!, free.head!) ? woken : free;
  }

  /** Lets those contend again who may pass now. */
  wake(waiters: ClassQueue): void {
    if (waiters.size === 0) return;
    if (!waiters.isUniform) while (waiters.size > 0) this.move(waiters.peek()!, this.free);
    else if (waiters.place < 0) this.woken.insert(waiters, waiters.firstKey);
  }

  /** Some of a resource came back. */
  wakeShort(index: number): void {
    const { queues } = this.shortages[index]!;
    if (queues.size > 0) for (const queue of queues.values()) this.wake(queue);
  }

  wakeAllShort(): void {
    for (let index = 0; index < this.shortages.length; index++) this.wakeShort(index);
  }

  /** Something keeps out a class that contended; and with it all those that came back with it, if it is the same. */
  keepOut(demand: DemandClass, waiters: ClassQueue): void {
    if (demand.standsIn === waiters) this.woken.remove(waiters);
    else this.move(demand, waiters);
  }

  /** Puts a class where it belongs after its queue has changed. */
  reorder(demand: DemandClass): void {
    const head = demand.queue.peek();
    if (head === demand.head && (head === undefined || head.rank === demand.headRank)) return;
    const { standsIn } = demand;
    demand.setHead(head);
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

  /** Perhaps: a queue that contends does so with its first. */
  private firstChanged(queue: ClassQueue): void {
    if (queue.place < 0) return;
    if (queue.size === 0) this.woken.remove(queue);
    else this.woken.update(queue, queue.firstKey);
  }
}

/** Queues that contend as one, the one with the most urgent execution first. */
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

/** So many amounts are remembered that nobody needs now. */
const MAX_EMPTY = 8;

/** Too little of a resource for some classes, apart by how much they need: those who need as much wait together. */
export class Shortage {
  readonly kind = 'resource';
  readonly queues = new Map<number, ClassQueue>();
  /** At so many queues those are dropped that nobody stands in; twice as many as were needed then. */
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
