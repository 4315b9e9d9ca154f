import type { DemandClass } from './demand-class.ts';
import type { Failure } from './failure.ts';
import { LinkedNode } from './graph-node.ts';
import type { Group } from './group.ts';
import type { LockClaim, LockHolder } from './locks.ts';
import { type ExecutionStatus, STATUS_NAMES, Status, type StatusCode } from './status.ts';
import { DEFAULT_TERMS, type Terms } from './terms.ts';
import type { Timed } from './timers.ts';

/** How an execution ended when it did not complete. */
export type Ending =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled'; readonly reason: unknown }
  /** `cause` is the root: the first that did not complete. There is none where a compensation was not needed. */
  | { readonly kind: 'skipped'; readonly cause: Execution | undefined };

type RoomState = 'none' | 'held' | 'lent';

const ROOM_STATES: readonly RoomState[] = ['none', 'held', 'lent'];

const STATE_MASK = 7;
const LEVEL_SHIFT = 3;
const LEVEL_MASK = 7;
const ROOM_SHIFT = 6;
const ROOM_MASK = 3;
const KEPT_BIT = 1 << 8;
const LAST_BIT = 1 << 9;
const ATTEMPT_SHIFT = 10;

/** What few executions have; kept apart, because the size of those that wait is what a long queue costs. */
export class RareFields {
  claims: LockClaim[] | undefined = undefined;
  ending: Ending | undefined = undefined;
  deadlineAt = 0;
  retryAt = 0;
  graceUntil = 0;
  progressAt = 0;
  timerIndex = -1;
}

/**
 * The scheduler's record of one execution. A shell extends it with what it needs itself and hands it in blank; the
 * scheduler fills it. One shape with small integers, because a million of them may wait: 0 stands for "none" in every
 * limit and moment that is optional.
 */
export class Execution extends LinkedNode implements Timed, LockHolder {
  demand!: DemandClass;
  /** State, level, room, whether it is kept and the last, and attempt, from the lowest bit: each of them is small. */
  private packed: number = Status.pending;
  /** When it came into its present state. */
  since = 0;
  /** By when it would like to start: submission plus an allowance for its level, or what it inherited. */
  urgentBy = 0;
  estimateMs = 0;
  /** The longest predicted path from its start to the end of everything that waits for it. */
  pathMs = 0;
  rank = 0;
  home: LockHolder['home'] = undefined;
  place = -1;

  submittedAt = 0;
  startedAt = 0;

  terms: Terms = DEFAULT_TERMS;
  /** Made when it is needed. */
  protected rare: RareFields | undefined = undefined;

  get state(): StatusCode {
    return (this.packed & STATE_MASK) as StatusCode;
  }

  set state(state: StatusCode) {
    this.packed = (this.packed & ~STATE_MASK) | state;
  }

  /** Urgency after inheritance, 0 to 4. */
  get level(): number {
    return (this.packed >> LEVEL_SHIFT) & LEVEL_MASK;
  }

  set level(level: number) {
    this.packed = (this.packed & ~(LEVEL_MASK << LEVEL_SHIFT)) | (level << LEVEL_SHIFT);
  }

  /** Held while running and while a stopped attempt lingers; lent while it waits for its children. */
  get room(): RoomState {
    return ROOM_STATES[(this.packed >> ROOM_SHIFT) & ROOM_MASK]!;
  }

  set room(room: RoomState) {
    const index = room === 'held' ? 1 : room === 'lent' ? 2 : 0;
    this.packed = (this.packed & ~(ROOM_MASK << ROOM_SHIFT)) | (index << ROOM_SHIFT);
  }

  /** Whether the work of the attempt that runs is done and its result is being kept: only the attempt itself ends it. */
  get isKept(): boolean {
    return (this.packed & KEPT_BIT) !== 0;
  }

  set isKept(isKept: boolean) {
    this.packed = isKept ? this.packed | KEPT_BIT : this.packed & ~KEPT_BIT;
  }

  /** Whether somebody wanted it to end while it was kept: no attempt may follow. */
  get isLast(): boolean {
    return (this.packed & LAST_BIT) !== 0;
  }

  set isLast(isLast: boolean) {
    this.packed = isLast ? this.packed | LAST_BIT : this.packed & ~LAST_BIT;
  }

  /** The number of the current or last attempt, from 1; it fences late answers of earlier ones. */
  get attempt(): number {
    return this.packed >> ATTEMPT_SHIFT;
  }

  nextAttempt(): void {
    this.packed += 1 << ATTEMPT_SHIFT;
  }

  get claims(): LockClaim[] | undefined {
    return this.rare?.claims;
  }

  set claims(claims: LockClaim[] | undefined) {
    this.withRare().claims = claims;
  }

  /** How it ended, if it did not complete. */
  get ending(): Ending | undefined {
    return this.rare?.ending;
  }

  set ending(ending: Ending) {
    this.withRare().ending = ending;
  }

  get deadlineAt(): number {
    return this.rare === undefined ? 0 : this.rare.deadlineAt;
  }

  set deadlineAt(at: number) {
    this.withRare().deadlineAt = at;
  }

  get retryAt(): number {
    return this.rare === undefined ? 0 : this.rare.retryAt;
  }

  set retryAt(at: number) {
    this.withRare().retryAt = at;
  }

  /** Until when a stopped attempt that has not ended may keep its room; 0 while there is none. */
  get graceUntil(): number {
    return this.rare === undefined ? 0 : this.rare.graceUntil;
  }

  set graceUntil(at: number) {
    this.withRare().graceUntil = at;
  }

  /** The last sign of life of an attempt that may not stall. */
  get progressAt(): number {
    return this.rare === undefined ? 0 : this.rare.progressAt;
  }

  set progressAt(at: number) {
    this.withRare().progressAt = at;
  }

  /** Most have no timer of their own, but one limit like many others: see {@link Timeouts}. */
  get timerIndex(): number {
    return this.rare === undefined ? -1 : this.rare.timerIndex;
  }

  set timerIndex(index: number) {
    this.withRare().timerIndex = index;
  }

  /** What the caller expects it to take, 0 if he did not say. */
  get ownEstimateMs(): number {
    return this.terms.isEstimated ? this.estimateMs : 0;
  }

  /** The first of its dependencies that has settled and did not complete. */
  firstUnsuccessful(): this | undefined {
    return this.dependencies?.find((dependency) => dependency.state > Status.completed);
  }

  /** Whether its failure is for another execution of the group to judge: the one that submitted it. */
  isOwnedWithin(_group: Group): boolean {
    return false;
  }

  get statusName(): ExecutionStatus {
    return STATUS_NAMES[this.state];
  }

  protected withRare(): RareFields {
    this.rare ??= this.makeRare();
    return this.rare;
  }

  protected makeRare(): RareFields {
    return new RareFields();
  }
}
