import type { ResourceVector } from './demand.ts';
import type { Execution } from './execution.ts';
import type { Group } from './group.ts';
import { IndexedHeap } from './heap.ts';
import { type Labels, sameLabels } from './labels.ts';
import type { Shape } from './placement.ts';
import { ReadyQueue } from './ready-queue.ts';
import type { ToolState } from './tool.ts';

/**
 * All queued executions with exactly the same needs (except locks, which may differ). If the first does not fit, none
 * does, so a dispatch inspects classes instead of executions.
 */
export class DemandClass {
  readonly queue = new ReadyQueue<Execution>();
  /** The head of the queue, with its rank. */
  head: Execution | undefined;
  headRank = 0;
  /** The queue it is in, free or blocked, and its index there. */
  standsIn: ClassQueue | undefined;
  place = -1;
  /** What it needs of workers, if there are any. */
  shape: Shape | undefined = undefined;
  unsettled = 0;
  /** The number of unsettled executions with a caller's estimate, and the sum of those estimates. */
  estimated = 0;
  estimatedMs = 0;

  constructor(
    readonly tool: ToolState,
    readonly group: Group,
    /** Changes when unclaimed needs are learned; those that run keep what they took. */
    public needs: ResourceVector,
    readonly conflicts: readonly ToolState[],
    /** The allowance between two priorities. */
    readonly stepMs: number,
    /** The needs that follow what is measured, as bits by index. */
    readonly learns = 0,
    /** The labels of the workers it may run on. */
    readonly on?: Labels,
    /** The quotas it may count against; undefined if there is only that of its tool. */
    readonly quotas?: readonly string[],
  ) {}

  add(execution: Execution): void {
    this.unsettled++;
    if (execution.terms.isEstimated) this.countEstimate(execution, 1);
  }

  /** Returns the number of remaining executions. */
  remove(execution: Execution): number {
    if (execution.terms.isEstimated) this.countEstimate(execution, -1);
    return --this.unsettled;
  }

  setHead(head: Execution | undefined, rank: number): void {
    this.head = head;
    if (head !== undefined) this.headRank = rank;
  }

  matches(
    group: Group,
    needs: ResourceVector,
    conflicts: readonly ToolState[],
    learns: number,
    on: Labels | undefined,
    quotas: readonly string[] | undefined,
  ): boolean {
    if (this.quotas !== quotas && !sameNames(this.quotas, quotas)) return false;
    if (this.on !== on && !sameLabels(this.on, on)) return false;
    if (this.group !== group || this.conflicts.length !== conflicts.length) return false;
    if (this.needs.length !== needs.length || this.learns !== learns) return false;
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

function sameNames(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  return a?.length === b?.length && a?.every((name, index) => name === b![index]) !== false;
}

/** Classes that may fit, or that share an obstacle, ordered by their most urgent execution. */
export class ClassQueue extends IndexedHeap<DemandClass> {
  /** Its index among the woken queues; -1 if it is not one of them. */
  place = -1;
  /** A lower bound of the time since which any class head has waited. */
  private waitsSince = Number.POSITIVE_INFINITY;

  constructor(
    /** Whether all have the same obstacle: if the first may not pass, none may. */
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

  /** Call this when the class has a new head. */
  headChanged(demand: DemandClass): void {
    this.noteWait(demand);
    this.update(demand, demand.headRank);
  }

  /** Whether the head of a blocked class may have waited since the given time. */
  mayHoldSince(moment: number): boolean {
    return this.isUniform && this.waitsSince <= moment;
  }

  /** Scans all classes to make the bound exact again. */
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
