import { IndexedHeap } from './heap.ts';

/** Something that wants to be looked at when a moment has come. */
export interface Timed {
  timerIndex: number;
}

/** The moments the scheduler waits for, but for plain timeouts, the next one first. */
export class Timers<T extends Timed> extends IndexedHeap<T> {
  set(item: T, at: number): void {
    if (item.timerIndex >= 0) this.update(item, at);
    else this.insert(item, at);
  }

  clear(item: T): void {
    if (item.timerIndex >= 0) this.remove(item);
  }

  /** What is due at the same moment may come in any order, but always in the same one. */
  protected override winsTie(): boolean {
    return false;
  }

  protected override indexOf(item: T): number {
    return item.timerIndex;
  }

  protected override setIndex(item: T, index: number): void {
    item.timerIndex = index;
  }
}
