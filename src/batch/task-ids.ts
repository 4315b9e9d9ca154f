import type { Store } from '../store/store.ts';
import { totalOf } from './counts.ts';

export interface ChosenIds {
  readonly ids: readonly string[];
  /** The tasks were not added: their numbers can be used again. */
  giveBack(): void;
}

/** Chooses ids for tasks that have none: `t1`, `t2` and so on, in the order in which they are added. */
export class TaskIds {
  /** The next number of a batch, as far as this process knows. */
  private readonly next = new Map<string, number>();

  constructor(private readonly store: Store) {}

  /** An id for each, the given one or a chosen one. The store has the last word on whether a chosen one is free. */
  choose(batch: string, given: readonly (string | undefined)[]): ChosenIds {
    const taken = new Set(given);
    const first = this.next.get(batch) ?? this.firstNumber(batch);
    let number = first;
    const ids = given.map((id) => {
      if (id !== undefined) return id;
      while (taken.has(`t${number}`)) number++;
      return `t${number++}`;
    });
    this.next.set(batch, number);
    const giveBack = () => {
      if (this.next.get(batch) === number) this.next.set(batch, first);
    };
    return { ids, giveBack };
  }

  /** A chosen id was taken: the next ones begin behind it, further away each time. */
  skip(batch: string, id: string): void {
    const taken = Number(id.slice(1));
    const first = this.firstNumber(batch);
    this.next.set(batch, Math.max(taken + 1, first + 2 * Math.max(1, taken - first)));
  }

  forget(batch: string): void {
    this.next.delete(batch);
  }

  private firstNumber(batch: string): number {
    const record = this.store.batch(batch);
    return record === undefined ? 1 : totalOf(record.counts) + 1;
  }
}
