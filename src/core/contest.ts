import { ClassQueue } from './class-queue.ts';
import { RESOURCES } from './demand.ts';
import type { DemandClass } from './demand-class.ts';
import { Shortage } from './shortage.ts';

/**
 * Where every class with a queue stands. Those that may fit contend in the order of their most urgent execution. One
 * that does not fit waits with whatever keeps it out and is not looked at again until that changes. Where many are kept
 * out alike, the first of them comes back to contend, and the next one when that has had its turn: the cost of an end
 * does not grow with their number.
 */
export class Contest {
  readonly contenders = new ClassQueue(false);
  readonly shortages = RESOURCES.map((_, index) => new Shortage(index));

  /** Lets those contend again who may pass now. */
  wake(waiters: ClassQueue): void {
    if (waiters.isUniform) this.wakeFirst(waiters);
    else while (waiters.size > 0) this.wakeFirst(waiters);
  }

  /** Lets the most urgent of those contend again whom something keeps out. */
  wakeFirst(waiters: ClassQueue): void {
    const demand = waiters.peek();
    if (demand === undefined) return;
    waiters.remove(demand);
    if (waiters.isUniform) demand.cameFrom = waiters;
    this.contenders.add(demand);
  }

  /** Some of a resource came back: the first of those who need as much of it is looked at. */
  wakeShort(index: number): void {
    const { queues } = this.shortages[index]!;
    if (queues.size > 0) for (const queue of queues.values()) this.wakeFirst(queue);
  }

  wakeAllShort(): void {
    for (let index = 0; index < this.shortages.length; index++) this.wakeShort(index);
  }

  /** Something keeps out a class that contended. */
  park(demand: DemandClass, waiters: ClassQueue): void {
    const from = demand.cameFrom;
    demand.cameFrom = undefined;
    this.contenders.remove(demand);
    waiters.add(demand);
    if (from !== undefined && from !== waiters) this.wakeFirst(from);
  }

  /** Puts a class where it belongs after its queue has changed. */
  reorder(demand: DemandClass): void {
    const head = demand.queue.peek();
    if (head === demand.head && (head === undefined || head.rank === demand.headRank)) return;
    const isFirst = demand.head === undefined;
    demand.setHead(head);
    if (isFirst) {
      this.contenders.add(demand);
      return;
    }
    const { cameFrom } = demand;
    const standsIn = demand.standsIn!;
    if (head === undefined) {
      standsIn.remove(demand);
      demand.cameFrom = undefined;
    } else {
      standsIn.headChanged(demand);
      // It may be kept out by nothing but the turn of one that goes behind it now.
      if (standsIn.isUniform && standsIn.peek() === demand) this.wakeFirst(standsIn);
    }
    // Perhaps it has lost its turn to one with whom it was kept out.
    if (cameFrom !== undefined) this.wakeFirst(cameFrom);
  }
}
