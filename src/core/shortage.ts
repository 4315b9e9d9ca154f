import { ClassQueue } from './class-queue.ts';
import type { DemandClass } from './demand-class.ts';

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
