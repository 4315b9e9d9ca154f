import type { Execution } from './execution.ts';
import { IndexedHeap } from './heap.ts';
import { Status } from './status.ts';

/** Something that needs attention at a certain time. */
export interface Timed {
  timerIndex: number;
}

/** All times the scheduler waits for except plain timeouts, earliest first. */
export class Timers<T extends Timed> extends IndexedHeap<T> {
  set(item: T, at: number): void {
    if (item.timerIndex >= 0) this.update(item, at);
    else this.insert(item, at);
  }

  clear(item: T): void {
    if (item.timerIndex >= 0) this.remove(item);
  }

  /** Entries due at the same time may fire in any order, but it must be deterministic. */
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

/** The most different timeouts with a ring of their own; most programs use a few. */
const MAX_RINGS = 8;
const MIN_RING = 16;
/** Ended attempts that may stay listed before a cleanup. */
const MAX_ENDED = 64;
/** Capacity for attempts that begin at the same time. */
const MAX_FRESH = 1024;

/**
 * Attempts with the same timeout, which expire in the order they began. An attempt that ended is not removed; it is
 * dropped when it reaches the front.
 */
class TimeoutRing {
  private executions: (Execution | undefined)[] = new Array(MIN_RING).fill(undefined);
  private attempts: number[] = new Array(MIN_RING).fill(0);
  private moments: number[] = new Array(MIN_RING).fill(0);
  private head = 0;
  private tail = 0;
  private lastAt = 0;
  /** The time of the first entry; Infinity while the ring is empty. */
  firstAt = Number.POSITIVE_INFINITY;

  constructor(public timeoutMs: number) {}

  get size(): number {
    return this.tail - this.head;
  }

  /** Returns false if the clock went back, so that it would expire before earlier entries. */
  add(execution: Execution, at: number): boolean {
    if (this.head === this.tail) this.firstAt = at;
    else if (at < this.lastAt) return false;
    if (this.size === this.executions.length) this.resize();
    const place = this.tail++ & (this.executions.length - 1);
    this.executions[place] = execution;
    this.attempts[place] = execution.attempt;
    this.moments[place] = at;
    this.lastAt = at;
    return true;
  }

  /** The first entry; it may have ended. */
  first(): Execution | undefined {
    return this.executions[this.head & (this.executions.length - 1)];
  }

  dropFirst(): void {
    const mask = this.executions.length - 1;
    this.executions[this.head++ & mask] = undefined;
    if (this.head !== this.tail) {
      this.firstAt = this.moments[this.head & mask]!;
      return;
    }
    this.firstAt = Number.POSITIVE_INFINITY;
    this.head = this.tail = 0;
    if (mask >= 1024) this.resize();
  }

  /** Drops ended attempts at the front and returns their number. */
  dropEnded(): number {
    let dropped = 0;
    for (; this.head !== this.tail && !this.runs(this.head); dropped++) this.dropFirst();
    return dropped;
  }

  /** Drops all ended attempts, inspecting each once because most are cold in memory. */
  compact(): void {
    const { executions, attempts, moments, head } = this;
    const mask = executions.length - 1;
    let end = head;
    for (let at = head; at < this.tail; at++) {
      if (!this.runs(at)) continue;
      executions[end & mask] = executions[at & mask];
      attempts[end & mask] = attempts[at & mask]!;
      moments[end++ & mask] = moments[at & mask]!;
    }
    for (let at = end; at < this.tail; at++) executions[at & mask] = undefined;
    this.tail = end;
    this.firstAt = head === end ? Number.POSITIVE_INFINITY : moments[head & mask]!;
    if (executions.length > MIN_RING && executions.length > 8 * this.size) this.resize();
  }

  *[Symbol.iterator](): Iterator<[execution: Execution, at: number]> {
    const mask = this.executions.length - 1;
    for (let at = this.head; at < this.tail; at++)
      if (this.runs(at)) yield [this.executions[at & mask]!, this.moments[at & mask]!];
  }

  private runs(at: number): boolean {
    const place = at & (this.executions.length - 1);
    return isRunning(this.executions[place]!, this.attempts[place]!);
  }

  /** Resizes the ring to twice the needed capacity. */
  private resize(): void {
    const { executions, attempts, moments, head, size } = this;
    const mask = executions.length - 1;
    let room = MIN_RING;
    while (room < 2 * size) room *= 2;
    this.executions = new Array(room).fill(undefined);
    this.attempts = new Array(room).fill(0);
    this.moments = new Array(room).fill(0);
    for (let place = 0; place < size; place++) {
      this.executions[place] = executions[(head + place) & mask];
      this.attempts[place] = attempts[(head + place) & mask]!;
      this.moments[place] = moments[(head + place) & mask]!;
    }
    this.head = 0;
    this.tail = size;
  }
}

/**
 * The timeouts of attempts that have no other limit, as nearly all do: a start costs two writes and an end nothing. All
 * other cases use ordinary timers.
 */
export class Timeouts {
  private readonly rings: TimeoutRing[] = [];
  /** Attempts that began last, all at the same time: most end before they must be moved to a ring. */
  private readonly fresh: (Execution | undefined)[] = [];
  private readonly freshAttempts: number[] = [];
  private freshCount = 0;
  private freshAt = 0;
  private inRings = 0;
  /** A lower bound of the first expiry; Infinity while none is listed. */
  earliest = Number.POSITIVE_INFINITY;

  constructor(
    /** Sets a timer for an attempt that cannot be listed here. */
    private readonly setTimer: (execution: Execution, at: number) => void,
  ) {}

  /** The number of listed attempts, including ended ones. */
  get listed(): number {
    return this.inRings + this.freshCount;
  }

  /** Returns false if the attempt needs a timer of its own. */
  add(execution: Execution, now: number): boolean {
    const { timeoutMs, stallMs } = execution.terms;
    if (timeoutMs === 0 || stallMs !== 0 || execution.deadlineAt !== 0) return false;
    if (now !== this.freshAt) {
      if (this.freshCount > 0) this.sortIn();
      this.freshAt = now;
    }
    this.fresh[this.freshCount] = execution;
    this.freshAttempts[this.freshCount++] = execution.attempt;
    if (now + timeoutMs < this.earliest) this.earliest = now + timeoutMs;
    return true;
  }

  /** The first expiry; Infinity for never. */
  get firstAt(): number {
    this.sortIn();
    return this.firstRing()?.firstAt ?? Number.POSITIVE_INFINITY;
  }

  /** Removes the attempt that expires first, if that is before the given time. */
  takeBefore(at: number): Execution | undefined {
    this.sortIn();
    const ring = this.firstRing();
    const first = ring === undefined || ring.firstAt >= at ? undefined : ring.first();
    if (first !== undefined) {
      ring!.dropFirst();
      this.inRings--;
    }
    this.noteEarliest();
    return first;
  }

  /** Keeps the number of ended attempts below that of running ones plus a few; zero when nothing runs. */
  trim(running: number): void {
    const { listed } = this;
    if (running === 0 ? listed === 0 : listed <= 2 * running + MAX_ENDED) return;
    this.sortIn();
    this.inRings = 0;
    for (const ring of this.rings) {
      ring.compact();
      this.inRings += ring.size;
    }
    this.noteEarliest();
  }

  /** The running attempts and their expiry times, in order for each timeout. */
  *[Symbol.iterator](): Iterator<[execution: Execution, at: number]> {
    for (const ring of this.rings) yield* ring;
    for (let index = 0; index < this.freshCount; index++) {
      const execution = this.fresh[index]!;
      if (isRunning(execution, this.freshAttempts[index]!))
        yield [execution, this.freshAt + execution.terms.timeoutMs];
    }
  }

  /** Moves the attempts that began last and still run into their rings. */
  private sortIn(): void {
    if (this.freshCount === 0) return;
    const { fresh, freshAttempts, freshCount, freshAt } = this;
    this.freshCount = 0;
    for (let index = 0; index < freshCount; index++) {
      const execution = fresh[index]!;
      fresh[index] = undefined;
      if (!isRunning(execution, freshAttempts[index]!)) continue;
      const { timeoutMs } = execution.terms;
      if (this.ringOf(timeoutMs)?.add(execution, freshAt + timeoutMs) === true) this.inRings++;
      else this.setTimer(execution, freshAt + timeoutMs);
    }
    if (fresh.length > MAX_FRESH) fresh.length = freshAttempts.length = 0;
    this.noteEarliest();
  }

  private noteEarliest(): void {
    this.earliest = Number.POSITIVE_INFINITY;
    for (const { firstAt } of this.rings) if (firstAt < this.earliest) this.earliest = firstAt;
  }

  private firstRing(): TimeoutRing | undefined {
    const { rings } = this;
    for (;;) {
      let first = rings[0];
      if (first === undefined) return undefined;
      for (let index = 1; index < rings.length; index++)
        if (rings[index]!.firstAt < first.firstAt) first = rings[index]!;
      const dropped = first.dropEnded();
      if (dropped === 0) return first;
      this.inRings -= dropped;
    }
  }

  /** The ring for a timeout, possibly reusing one that is empty. */
  private ringOf(timeoutMs: number): TimeoutRing | undefined {
    for (const ring of this.rings) if (ring.timeoutMs === timeoutMs) return ring;
    if (this.rings.length < MAX_RINGS) {
      const ring = new TimeoutRing(timeoutMs);
      this.rings.push(ring);
      return ring;
    }
    for (const ring of this.rings) {
      this.inRings -= ring.dropEnded();
      if (ring.size > 0) continue;
      ring.timeoutMs = timeoutMs;
      return ring;
    }
    return undefined;
  }
}

function isRunning(execution: Execution, attempt: number): boolean {
  return execution.state === Status.running && execution.attempt === attempt;
}
