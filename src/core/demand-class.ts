import type { ResourceVector } from './demand.ts';
import type { Execution } from './execution.ts';
import type { Group } from './group.ts';
import { IndexedHeap } from './heap.ts';
import { ReadyQueue } from './ready-queue.ts';
import type { Tool } from './tool.ts';

/**
 * All queued executions that ask for exactly the same (but for locks, which each may have of its own). If the first
 * does not fit, none does: a dispatch looks at classes, never at every execution.
 */
export class DemandClass {
  readonly queue = new ReadyQueue<Execution>();
  /** The first of the queue, with its rank. */
  head: Execution | undefined;
  headRank = 0;
  /** Where it stands, with those that may fit or with whatever keeps it out, and the place there. */
  standsIn: ClassQueue | undefined;
  place = -1;
  unsettled = 0;
  /** Of the unsettled ones, how many have an estimate of the caller's own, and the sum of these. */
  estimated = 0;
  estimatedMs = 0;

  constructor(
    readonly tool: Tool,
    readonly group: Group,
    readonly needs: ResourceVector,
    readonly conflicts: readonly Tool[],
  ) {}

  add(execution: Execution): void {
    this.unsettled++;
    if (execution.terms.isEstimated) this.countEstimate(execution, 1);
  }

  /** Returns how many are left. */
  remove(execution: Execution): number {
    if (execution.terms.isEstimated) this.countEstimate(execution, -1);
    return --this.unsettled;
  }

  setHead(head: Execution | undefined): void {
    this.head = head;
    if (head !== undefined) this.headRank = head.rank;
  }

  matches(group: Group, needs: ResourceVector, conflicts: readonly Tool[]): boolean {
    if (this.group !== group || this.conflicts.length !== conflicts.length) return false;
    for (let index = 0; index < needs.length; index++) if (this.needs[index] !== needs[index]) return false;
    for (let index = 0; index < conflicts.length; index++)
      if (this.conflicts[index] !== conflicts[index]) return false;
    return true;
  }

  private countEstimate({ estimateMs }: Execution, sign: 1 | -1): void {
    this.estimated += sign;
    this.estimatedMs += sign * estimateMs;
  }
}

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
