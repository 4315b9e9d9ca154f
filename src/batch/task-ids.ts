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
  async choose(batch: string, given: readonly (string | undefined)[]): Promise<ChosenIds> {
    const taken = new Set(given);
    const stored = this.next.has(batch) ? 1 : await this.firstNumber(batch);
    // Somebody else may have chosen meanwhile. From here on nobody does.
    const first = this.next.get(batch) ?? stored;
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
  async skip(batch: string, id: string): Promise<void> {
    const taken = Number(id.slice(1));
    const first = await this.firstNumber(batch);
    this.next.set(batch, Math.max(taken + 1, first + 2 * Math.max(1, taken - first)));
  }

  forget(batch: string): void {
    this.next.delete(batch);
  }

  private async firstNumber(batch: string): Promise<number> {
    const record = await this.store.batch(batch);
    return record === undefined ? 1 : totalOf(record.counts) + 1;
  }
}
