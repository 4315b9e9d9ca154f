import { EdgeLists, withRoomFor } from '../../core/edge-lists.ts';
import { IdMap } from '../../core/id-map.ts';
import { NumberHeap } from '../../core/number-heap.ts';
import { PRIORITIES } from '../../core/priority.ts';

/** A task that may join the backlog. */
export interface BacklogTask {
  readonly seq: number;
  readonly id: string;
  /** Its priority, 0 for the most urgent. */
  readonly level: number;
  readonly dependsOn: readonly string[];
  /** Whether one unsuccessful dependency is enough to skip it. */
  readonly isSkippedAtOnce: boolean;
}

/** How many tasks of the backlog may be submitted at once. */
export interface WindowSize {
  /** Of those whose dependencies have ended. */
  readonly ready: number;
  /** Of those that wait for submitted ones. */
  readonly blocked: number;
}

/** Not submitted yet. */
const OPEN = 0;
/** Submitted, and waiting for its dependencies. */
const BLOCKED = 1;
/** Submitted, with nothing to wait for but its turn. */
const READY = 2;
const SUCCEEDED = 3;
const UNSUCCESSFUL = 4;

/** How many queued tasks are looked at in one go. */
const MAX_LOOKED = 20_000;

const NEEDS_ALL = 1;
/** Whether nothing that its other dependencies do can change how it ends. */
const IS_DECIDED = 2;

/**
 * The open tasks of a batch that is too large to be submitted whole. Here a task is a number and some bytes: which ones
 * can be submitted next follows from typed arrays, and their texts stay in the store.
 *
 * A task is submitted when its dependencies have ended, or when they are submitted too. Of the former more urgent ones go
 * first, then those with more steps behind them, then those added earlier. A task that an urgent one of the same
 * addition waits for is as urgent.
 */
export class Backlog {
  /** The number of tasks that are not submitted yet. */
  size = 0;
  private readonly nodes: IdMap;
  private readonly edges = new EdgeLists();
  private seqs = new Int32Array(1024);
  private states = new Uint8Array(1024);
  private flags = new Uint8Array(1024);
  private levels = new Uint8Array(1024);
  /** The length of the longest chain of dependents. */
  private heights = new Int32Array(1024);
  /** Dependencies that have not ended. */
  private unsettled = new Int32Array(1024);
  /** Dependencies that are not submitted. */
  private unsubmitted = new Int32Array(1024);
  private readonly ready = new NumberHeap();
  private readonly blocked = new NumberHeap();
  /** The nodes of submitted tasks, by number. */
  private readonly submitted = new Map<number, number>();
  private readyCount = 0;
  /** How many submitted tasks have each level. */
  private readonly levelCounts = PRIORITIES.map(() => 0);
  /** Edges whose dependency is not looked up yet: three numbers for each. */
  private unlinked = new Int32Array(1024);
  private unlinkedEnd = 0;
  /** The first node that is not linked yet. */
  private firstUnlinked = 0;

  constructor(
    seed: number,
    private readonly window: WindowSize,
    /** The number of a task that was submitted without the backlog, if it has not ended. */
    private readonly submittedSeq: (id: string) => number | undefined,
  ) {
    this.nodes = new IdMap(seed);
  }

  /** Adds a task, unless it is here. It takes part after the next {@link link}. */
  add({ seq, id, level, dependsOn, isSkippedAtOnce }: BacklogTask): void {
    const known = this.nodes.get(id);
    if (known >= 0 && this.states[known]! < SUCCEEDED) return;
    const node = this.addNode(seq, id, level, OPEN);
    if (isSkippedAtOnce) this.flags[node] = NEEDS_ALL;
    this.size++;
    for (const dependency of dependsOn) {
      if (this.nodes.get(dependency) < 0) {
        const submitted = this.submittedSeq(dependency);
        if (submitted !== undefined)
          this.noteSubmitted(submitted, this.addNode(submitted, dependency, level, READY));
      }
      this.nodes.hash(dependency);
      const { high, low } = this.nodes;
      this.unlinked = withRoomFor(this.unlinked, this.unlinkedEnd + 3);
      this.unlinked[this.unlinkedEnd++] = node;
      this.unlinked[this.unlinkedEnd++] = high;
      this.unlinked[this.unlinkedEnd++] = low;
    }
  }

  /** Links the added tasks to their dependencies, which may have been added after them. */
  link(): void {
    const { unlinked, unlinkedEnd, firstUnlinked } = this;
    for (let at = 0; at < unlinkedEnd; at += 3) {
      const node = unlinked[at]!;
      const dependency = this.nodes.find(unlinked[at + 1]!, unlinked[at + 2]!);
      // It ended in an earlier run, or it was cleared: the store knows.
      if (dependency < 0 || this.states[dependency] === SUCCEEDED) continue;
      if (this.states[dependency] === UNSUCCESSFUL) {
        this.decideIfNeeded(node);
        continue;
      }
      this.edges.addEdge(dependency, node);
      this.unsettled[node]!++;
      if (this.states[dependency] === OPEN) this.unsubmitted[node]!++;
    }
    this.unlinked = new Int32Array(1024);
    this.unlinkedEnd = 0;
    this.rank(firstUnlinked);
    const count = this.edges.nodes;
    for (let node = firstUnlinked; node < count; node++) if (this.states[node] === OPEN) this.queue(node);
    this.firstUnlinked = count;
  }

  /** Whether {@link take} would return enough tasks to be worth it, or a more urgent one. */
  get isDue(): boolean {
    if (this.ready.size > 0 && (this.readyCount <= this.window.ready / 2 || this.isUrgent())) return true;
    return this.blocked.size > 0 && this.blockedCount <= this.window.blocked / 2;
  }

  /** Whether tasks are left although nothing is submitted and nothing can be: it would never end. */
  get isStuck(): boolean {
    return this.size > 0 && this.submitted.size === 0 && this.ready.size + this.blocked.size === 0;
  }

  /** Queues all tasks that are left, whatever they wait for. */
  release(): void {
    for (let node = 0; node < this.edges.nodes; node++) if (this.states[node] === OPEN) this.decide(node);
  }

  /** The numbers of tasks to submit now, the next one first. They count as submitted from here on. */
  take(max: number): number[] {
    const taken: number[] = [];
    while (taken.length < max && (this.readyCount < this.window.ready || this.isUrgent())) {
      if (this.ready.size === 0) break;
      const node = this.ready.first;
      this.ready.dropFirst();
      if (this.states[node] === OPEN) taken.push(this.submit(node, READY));
    }
    // Some have become ready meanwhile. Of a million of them, only a part is dropped at once.
    for (let looked = 0; looked < MAX_LOOKED && this.blockedCount < this.window.blocked; looked++) {
      if (this.blocked.size === 0 || taken.length === max) break;
      const node = this.blocked.first;
      this.blocked.dropFirst();
      if (this.states[node] === OPEN && !this.isReady(node)) taken.push(this.submit(node, BLOCKED));
    }
    return taken;
  }

  /** A task is submitted although it was not taken. */
  takeOne(id: string): void {
    const node = this.nodes.get(id);
    if (node >= 0 && this.states[node] === OPEN) this.submit(node, this.isReady(node) ? READY : BLOCKED);
  }

  /** A submitted task has ended. */
  ended(seq: number, hasSucceeded: boolean): void {
    const node = this.submitted.get(seq);
    if (node === undefined) return;
    this.submitted.delete(seq);
    this.levelCounts[this.levels[node]!]!--;
    if (this.states[node] === READY) this.readyCount--;
    this.settle(node, hasSucceeded);
  }

  /** A task ended before it was submitted. */
  withdrawn(id: string): void {
    const node = this.nodes.get(id);
    if (node < 0 || this.states[node] !== OPEN) return;
    this.size--;
    this.states[node] = UNSUCCESSFUL;
    this.releaseDependents(node);
    this.settle(node, false);
  }

  private get blockedCount(): number {
    return this.submitted.size - this.readyCount;
  }

  private addNode(seq: number, id: string, level: number, state: number): number {
    const node = this.edges.addNode();
    this.nodes.set(id, node);
    this.seqs = withRoomFor(this.seqs, node + 1);
    this.states = withRoomFor(this.states, node + 1);
    this.flags = withRoomFor(this.flags, node + 1);
    this.levels = withRoomFor(this.levels, node + 1);
    this.heights = withRoomFor(this.heights, node + 1);
    this.unsettled = withRoomFor(this.unsettled, node + 1);
    this.unsubmitted = withRoomFor(this.unsubmitted, node + 1);
    this.seqs[node] = seq;
    this.levels[node] = level;
    this.states[node] = state;
    return node;
  }

  private noteSubmitted(seq: number, node: number): void {
    this.submitted.set(seq, node);
    this.levelCounts[this.levels[node]!]!++;
    if (this.states[node] === READY) this.readyCount++;
  }

  private submit(node: number, state: number): number {
    const seq = this.seqs[node]!;
    this.size--;
    this.states[node] = state;
    this.noteSubmitted(seq, node);
    this.releaseDependents(node);
    return seq;
  }

  /** The dependents of a node may follow it. */
  private releaseDependents(node: number): void {
    this.edges.forDependents(node, (dependent) => {
      if (--this.unsubmitted[dependent]! === 0 && this.states[dependent] === OPEN) this.queue(dependent);
    });
  }

  private settle(node: number, hasSucceeded: boolean): void {
    this.states[node] = hasSucceeded ? SUCCEEDED : UNSUCCESSFUL;
    this.edges.forDependents(node, (dependent) => {
      this.unsettled[dependent]!--;
      if (!hasSucceeded) this.decideIfNeeded(dependent);
      if (this.unsettled[dependent] !== 0) return;
      if (this.states[dependent] === OPEN) this.queue(dependent);
      else if (this.states[dependent] === BLOCKED) {
        this.states[dependent] = READY;
        this.readyCount++;
      }
    });
  }

  private decideIfNeeded(node: number): void {
    if ((this.flags[node]! & NEEDS_ALL) !== 0) this.decide(node);
  }

  private decide(node: number): void {
    if (this.states[node] !== OPEN || (this.flags[node]! & IS_DECIDED) !== 0) return;
    this.flags[node]! |= IS_DECIDED;
    if (node < this.firstUnlinked) this.ready.add(this.rankOf(node), node, node);
  }

  private isReady(node: number): boolean {
    return this.unsettled[node] === 0 || (this.flags[node]! & IS_DECIDED) !== 0;
  }

  private queue(node: number): void {
    if (this.isReady(node)) this.ready.add(this.rankOf(node), node, node);
    else if (this.unsubmitted[node] === 0) this.blocked.add(this.rankOf(node), node, node);
  }

  /** Whether the next task is more urgent than one that is submitted. */
  private isUrgent(): boolean {
    if (this.ready.size === 0 || this.readyCount >= 2 * this.window.ready) return false;
    const leastUrgent = this.levelCounts.findLastIndex((count) => count > 0);
    return this.levels[this.ready.first]! < leastUrgent;
  }

  /** Lower numbers go first. It does not change while a task is queued. */
  private rankOf(node: number): number {
    return this.levels[node]! * 2 ** 32 - this.heights[node]!;
  }

  /** Computes the heights and levels of the nodes from a number on. */
  private rank(from: number): void {
    if (this.edges.edgeCount === 0) return;
    const { heights, levels } = this;
    const order = this.edges.order(from);
    for (let at = order.length - 1; at >= 0; at--) {
      const node = order[at]!;
      if (this.states[node] !== OPEN) continue;
      this.edges.forDependents(node, (dependent) => {
        heights[node] = Math.max(heights[node]!, heights[dependent]! + 1);
        levels[node] = Math.min(levels[node]!, levels[dependent]!);
      });
    }
  }
}
