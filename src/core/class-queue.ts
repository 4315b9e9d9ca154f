import type { DemandClass } from './demand-class.ts';
import { IndexedHeap } from './heap.ts';

/** Classes that may fit, or that something keeps out: the one with the most urgent execution first. */
export class ClassQueue extends IndexedHeap<DemandClass> {
  /** Where it stands while its classes, kept out alike before, contend as one; -1 while they do not. */
  place = -1;
  /** Not later than the moment since which any first of a class has waited. */
  private waitsSince = Number.POSITIVE_INFINITY;

  constructor(
    /** Whether all are kept out for the same reason: where the first may not pass, none may. */
    readonly isUniform: boolean,
  ) {
    super();
  }

  add(demand: DemandClass): void {
    demand.standsIn = this;
    this.noteWait(demand);
    this.insert(demand, demand.headRank);
  }

  override remove(demand: DemandClass): void {
    super.remove(demand);
    demand.standsIn = undefined;
  }

  /** Call it when another execution of the class has become its first. */
  headChanged(demand: DemandClass): void {
    this.noteWait(demand);
    this.update(demand, demand.headRank);
  }

  /** Whether the first of a class that is kept out may have waited since the moment. */
  mayHoldSince(moment: number): boolean {
    return this.isUniform && this.waitsSince <= moment;
  }

  /** Looks at all, so that the next question is answered well. */
  noteWaits(): void {
    this.waitsSince = Number.POSITIVE_INFINITY;
    for (const demand of this) this.noteWait(demand);
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

  private noteWait({ head }: DemandClass): void {
    if (head!.since < this.waitsSince) this.waitsSince = head!.since;
  }
}
