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
  /** The place among the contenders, or -1. */
  contenderIndex = -1;
  /** Where it waits when it does not fit; the list belongs to whatever is short. */
  parkedIn: DemandClass[] | undefined;
  parkedAt = -1;
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

  park(list: DemandClass[]): void {
    this.parkedIn = list;
    this.parkedAt = list.length;
    list.push(this);
  }

  unpark(): void {
    const list = this.parkedIn;
    if (list === undefined) return;
    const last = list.pop()!;
    if (last !== this) {
      list[this.parkedAt] = last;
      last.parkedAt = this.parkedAt;
    }
    this.parkedIn = undefined;
  }

  private countEstimate({ estimateMs }: Execution, sign: 1 | -1): void {
    this.estimated += sign;
    this.estimatedMs += sign * estimateMs;
  }
}

/** The classes that may fit, the one with the most urgent execution first. */
export class Contenders extends IndexedHeap<DemandClass> {
  add(demand: DemandClass): void {
    this.insert(demand, demand.headRank);
  }

  /** Call it when another execution of the class has become its first. */
  headChanged(demand: DemandClass): void {
    this.update(demand, demand.headRank);
  }

  protected override winsTie(a: DemandClass, b: DemandClass): boolean {
    return a.head!.seq < b.head!.seq;
  }

  protected override indexOf(item: DemandClass): number {
    return item.contenderIndex;
  }

  protected override setIndex(item: DemandClass, index: number): void {
    item.contenderIndex = index;
  }
}
