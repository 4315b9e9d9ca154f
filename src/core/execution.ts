import type { ResourceVector } from './demand.ts';
import type { DemandClass } from './demand-class.ts';
import type { Failure } from './failure.ts';
import { LinkedNode } from './graph-node.ts';
import type { Group } from './group.ts';
import type { LockClaim, LockHolder } from './locks.ts';
import { type ExecutionStatus, STATUS_NAMES, Status, type StatusCode } from './status.ts';
import { DEFAULT_TERMS, type Terms } from './terms.ts';
import type { Timed } from './timers.ts';
import { rankOf } from './urgency.ts';

/** How an execution ended if it did not complete. */
export type Ending =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled'; readonly reason: unknown }
  /** `cause` is the root cause: the first that did not complete. There is none if a compensation was not needed. */
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

/** Rarely used fields, kept apart because the size of waiting executions is the cost of a long queue. */
export class RareFields {
  claims: LockClaim[] | undefined = undefined;
  ending: Ending | undefined = undefined;
  deadlineAt = 0;
  retryAt = 0;
  graceUntil = 0;
  progressAt = 0;
  timerIndex = -1;
  /** What it took when it started, if its demand has changed since. */
  held: ResourceVector | undefined = undefined;
  worker: string | undefined = undefined;
  quota: string | undefined = undefined;
  refusals = 0;
  lost = 0;
}

/**
 * The scheduler's record of one execution. A shell extends it with its own fields and passes it in blank; the scheduler
 * fills it. One shape with small integers, because a million of them may wait: 0 means "none" in every optional limit
 * and time.
 */
export class Execution extends LinkedNode implements Timed, LockHolder {
  demand!: DemandClass;
  /** State, level, room, kept, last and attempt, packed from the lowest bit up. */
  private packed: number = Status.pending;
  /** When it entered its current state. */
  since = 0;
  /** When it should start: submission plus the allowance of its level, or an inherited earlier time. */
  urgentBy = 0;
  estimateMs = 0;
  /** The longest predicted path from its start to the end of everything that depends on it. */
  pathMs = 0;
  home: LockHolder['home'] = undefined;
  place = -1;

  submittedAt = 0;
  startedAt = 0;

  terms: Terms = DEFAULT_TERMS;
  /** Built on demand. */
  protected rare: RareFields | undefined = undefined;

  get state(): StatusCode {
    return (this.packed & STATE_MASK) as StatusCode;
  }

  set state(state: StatusCode) {
    this.packed = (this.packed & ~STATE_MASK) | state;
  }

  /** Level after inheritance, 0 to 4. */
  get level(): number {
    return (this.packed >> LEVEL_SHIFT) & LEVEL_MASK;
  }

  set level(level: number) {
    this.packed = (this.packed & ~(LEVEL_MASK << LEVEL_SHIFT)) | (level << LEVEL_SHIFT);
  }

  /**
   * Held while running and while a stopped attempt lingers; lent while it waits for its children. One that runs has none
   * if its result is being kept and it has given its room back.
   */
  get room(): RoomState {
    return ROOM_STATES[(this.packed >> ROOM_SHIFT) & ROOM_MASK]!;
  }

  set room(room: RoomState) {
    const index = room === 'held' ? 1 : room === 'lent' ? 2 : 0;
    this.packed = (this.packed & ~(ROOM_MASK << ROOM_SHIFT)) | (index << ROOM_SHIFT);
  }

  /** Whether the running attempt's work is done and its result is being kept: only the attempt itself can end it. */
  get isKept(): boolean {
    return (this.packed & KEPT_BIT) !== 0;
  }

  set isKept(isKept: boolean) {
    this.packed = isKept ? this.packed | KEPT_BIT : this.packed & ~KEPT_BIT;
  }

  /** Whether its work is done and it has given its room back, while its result is being kept. */
  get isSaving(): boolean {
    return this.isKept && this.room === 'none';
  }

  /** Whether it was ended while its result was being kept: no further attempt may follow. */
  get isLast(): boolean {
    return (this.packed & LAST_BIT) !== 0;
  }

  set isLast(isLast: boolean) {
    this.packed = isLast ? this.packed | LAST_BIT : this.packed & ~LAST_BIT;
  }

  /** The number of the current or last attempt, from 1. It fences late results of earlier ones. */
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

  /** What it holds while it runs. */
  get heldNeeds(): ResourceVector {
    return this.rare?.held ?? this.demand.needs;
  }

  /** Call it before the needs of its demand change while it holds them. */
  keepHeld(): void {
    const rare = this.withRare();
    rare.held ??= this.demand.needs;
  }

  /** Call it when it takes the needs of its demand. */
  forgetHeld(): void {
    if (this.rare !== undefined) this.rare.held = undefined;
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

  /** Until when a stopped attempt may keep its resources; 0 if there is none. */
  get graceUntil(): number {
    return this.rare === undefined ? 0 : this.rare.graceUntil;
  }

  set graceUntil(at: number) {
    this.withRare().graceUntil = at;
  }

  /** The last sign of life of an attempt with a stall limit. */
  get progressAt(): number {
    return this.rare === undefined ? 0 : this.rare.progressAt;
  }

  set progressAt(at: number) {
    this.withRare().progressAt = at;
  }

  /** Most have no timer of their own but a timeout shared by many: see {@link Timeouts}. */
  get timerIndex(): number {
    return this.rare === undefined ? -1 : this.rare.timerIndex;
  }

  set timerIndex(index: number) {
    this.withRare().timerIndex = index;
  }

  /** The worker on which it runs or ran last, if there are workers. */
  get worker(): string | undefined {
    return this.rare?.worker;
  }

  set worker(worker: string) {
    this.withRare().worker = worker;
  }

  /** The quota that its current or last attempt counts against. */
  get quota(): string {
    const { quotas, tool } = this.demand;
    return this.rare?.quota ?? (quotas === undefined ? tool.name : quotas[0]!);
  }

  set quota(name: string) {
    this.withRare().quota = name;
  }

  /** How many of its attempts were refused because a quota was used up. They do not count as attempts. */
  get refusals(): number {
    return this.rare === undefined ? 0 : this.rare.refusals;
  }

  set refusals(count: number) {
    this.withRare().refusals = count;
  }

  /** How many of its attempts were lost with their workers, or given back before they began. They do not count either. */
  get lost(): number {
    return this.rare === undefined ? 0 : this.rare.lost;
  }

  set lost(count: number) {
    this.withRare().lost = count;
  }

  /** The number of attempts that count against its retries. */
  get countedAttempts(): number {
    return this.attempt - this.refusals - this.lost;
  }

  /** The caller's estimate, 0 if none. */
  get ownEstimateMs(): number {
    return this.terms.isEstimated ? this.estimateMs : 0;
  }

  /** Computed, because a fraction in a field would be boxed on the heap, and a million executions may wait. */
  get rank(): number {
    return rankOf(this.urgentBy, this.pathMs, this.demand.stepMs);
  }

  /** How long an attempt takes by the caller's estimate, or by what is known of the tool now. */
  get expectedMs(): number {
    return this.terms.isEstimated ? this.estimateMs : this.demand.tool.durations.estimateMs();
  }

  /** The same without rounding: many short ones together may take no time. */
  get meanMs(): number {
    return this.terms.isEstimated ? this.estimateMs : this.demand.tool.durations.meanMs();
  }

  /** Whether that is the caller's estimate or was learned; otherwise it is a guess. */
  get isEstimateKnown(): boolean {
    return this.terms.isEstimated || this.demand.tool.durations.isKnown;
  }

  /** The first dependency that settled without completing. */
  firstUnsuccessful(): this | undefined {
    return this.dependencies?.find((dependency) => dependency.state > Status.completed);
  }

  /** Whether its failure does not end a fail-fast group: the execution that submitted it handles the failure. */
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
