import type { Execution } from '../core/execution.ts';
import type { Job } from './job.ts';
import type { MissedUpdates, ProgressUpdate } from './updates.ts';

/** Callbacks that are each called once, when something happens. */
export class Wakeups {
  private waiting: (() => void)[] = [];

  get size(): number {
    return this.waiting.length;
  }

  add(callback: () => void): void {
    this.waiting.push(callback);
  }

  delete(callback: () => void): void {
    const at = this.waiting.indexOf(callback);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  fire(): void {
    if (this.waiting.length === 0) return;
    const woken = this.waiting;
    this.waiting = [];
    for (const callback of woken) callback();
  }
}

/** More than the number of event types. */
const MAX_TYPES = 16;

/** One event as the log keeps it; a reader turns it into an update. */
export interface LoggedEvent {
  readonly eventId: number;
  readonly typeIndex: number;
  readonly at: number;
  readonly execution: Execution;
  readonly attempt: number;
  readonly detail: unknown;
}

/**
 * The latest events of the engine, in a ring of parallel arrays: writing one allocates no object. Event ids increase by
 * one.
 *
 * Readers pull and keep their own position, so a slow one costs nothing and learns how much it missed.
 */
export class EventRing {
  /** The id of the next event. */
  nextId = 1;
  private readonly mask: number;
  /** For each event its time, then type and attempt packed into one number: values written together are adjacent. */
  private readonly numbers: Float64Array;
  private readonly executions: (Execution | undefined)[];
  /** Created with the first event that needs it. */
  private details: unknown[] | undefined;
  /** Fires with every event. */
  readonly arrivals = new Wakeups();

  constructor(capacity: number) {
    let size = 16;
    while (size < capacity) size *= 2;
    this.mask = size - 1;
    this.numbers = new Float64Array(2 * size);
    this.executions = new Array(size).fill(undefined);
  }

  get capacity(): number {
    return this.mask + 1;
  }

  get oldestId(): number {
    return Math.max(1, this.nextId - this.capacity);
  }

  append(typeIndex: number, execution: Execution, at: number, detail: unknown): void {
    const id = this.nextId++;
    const slot = id & this.mask;
    this.numbers[2 * slot] = at;
    this.numbers[2 * slot + 1] = execution.attempt * MAX_TYPES + typeIndex;
    this.executions[slot] = execution;
    if (detail !== undefined) this.details ??= new Array(this.mask + 1).fill(undefined);
    if (this.details !== undefined) this.details[slot] = detail;
    this.arrivals.fire();
    (execution as Job).extras?.follow(id);
  }

  has(id: number): boolean {
    return id >= this.oldestId && id < this.nextId;
  }

  read(id: number): LoggedEvent {
    const slot = id & this.mask;
    const packed = this.numbers[2 * slot + 1]!;
    return {
      eventId: id,
      typeIndex: packed % MAX_TYPES,
      at: this.numbers[2 * slot]!,
      execution: this.executions[slot]!,
      attempt: Math.floor(packed / MAX_TYPES),
      detail: this.details?.[slot],
    };
  }

  /** The ids of the remembered events of one execution. Scans the whole log; few executions are followed. */
  idsOf(execution: Execution): number[] {
    const ids: number[] = [];
    for (let id = this.oldestId; id < this.nextId; id++)
      if (this.executions[id & this.mask] === execution) ids.push(id);
    return ids;
  }
}

/** Updates as they come. It ends by itself, or with `break` out of the loop. */
export interface ProgressStream extends AsyncIterableIterator<ProgressUpdate | MissedUpdates> {
  /** The stream itself: it can be read once. */
  [Symbol.asyncIterator](): ProgressStream;
  /** Ends the stream; a pending `next()` resolves. `break` calls it. */
  return(): Promise<IteratorResult<ProgressUpdate | MissedUpdates>>;
}

/** A position in the event log. */
export interface Cursor {
  /** The next update, or undefined while there is none. */
  next(): ProgressUpdate | MissedUpdates | undefined;
  /** Whether no more updates will come. */
  isAtEnd(): boolean;
  readonly arrivals: Wakeups;
}

type Result = IteratorResult<ProgressUpdate | MissedUpdates>;

const DONE: Result = { done: true, value: undefined };

/** Reads through a cursor. Nothing is buffered for it: however slow the reader, the cost is one position. */
export class Subscription implements ProgressStream {
  private wake: (() => void) | undefined;
  private isClosed = false;

  constructor(
    private readonly cursor: Cursor,
    private readonly onReturn?: () => void,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Result> {
    if (this.wake !== undefined) throw new TypeError('next() was called again before the last call resolved');
    for (;;) {
      if (this.isClosed) return DONE;
      const value = this.cursor.next();
      if (value !== undefined) return { done: false, value };
      if (this.cursor.isAtEnd()) return DONE;
      await this.arrival();
    }
  }

  async return(): Promise<Result> {
    this.isClosed = true;
    this.onReturn?.();
    if (this.wake !== undefined) {
      this.cursor.arrivals.delete(this.wake);
      this.wake();
    }
    return DONE;
  }

  private arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
      this.cursor.arrivals.add(this.wake);
    });
  }
}

/** Follows all events of the engine. */
export class LogCursor implements Cursor {
  readonly arrivals: Wakeups;

  constructor(
    private readonly log: EventRing,
    private position: number,
    private readonly describe: (eventId: number) => ProgressUpdate,
    private readonly isEngineClosed: () => boolean,
  ) {
    this.arrivals = log.arrivals;
  }

  next(): ProgressUpdate | MissedUpdates | undefined {
    const { oldestId, nextId } = this.log;
    if (this.position < oldestId) {
      const count = oldestId - this.position;
      this.position = oldestId;
      return { type: 'missed', count };
    }
    return this.position < nextId ? this.describe(this.position++) : undefined;
  }

  isAtEnd(): boolean {
    return this.isEngineClosed();
  }
}

/** How many events a reader of one execution may be behind before the older half is dropped. */
const MAX_BEHIND = 1024;

/** Follows the events of one execution, up to the one that settles it. */
export class ExecutionCursor implements Cursor {
  readonly arrivals = new Wakeups();
  private missed = 0;
  private hasEnded = false;

  constructor(
    private readonly log: EventRing,
    /** The ids of the events that were not read yet. */
    private ids: number[],
    private readonly describe: (eventId: number) => ProgressUpdate,
    /** The update that settled the execution, once it has. */
    private readonly describeEnd: () => ProgressUpdate | undefined,
  ) {}

  arrived(eventId: number): void {
    this.ids.push(eventId);
    if (this.ids.length > MAX_BEHIND) {
      this.missed += MAX_BEHIND / 2;
      this.ids = this.ids.slice(MAX_BEHIND / 2);
    }
    this.arrivals.fire();
  }

  next(): ProgressUpdate | MissedUpdates | undefined {
    if (this.hasEnded) return undefined;
    while (this.ids.length > 0 && !this.log.has(this.ids[0]!)) {
      this.ids.shift();
      this.missed++;
    }
    const end = this.ids.length === 0 ? this.describeEnd() : undefined;
    // The end is delivered even if it has left the log by now; then it does not count as missed.
    const count = end === undefined ? this.missed : this.missed - 1;
    this.missed = 0;
    if (count > 0) return { type: 'missed', count };
    const update = this.ids.length === 0 ? end : this.describe(this.ids.shift()!);
    this.hasEnded = update !== undefined && isFinal(update);
    return update;
  }

  isAtEnd(): boolean {
    return this.hasEnded;
  }
}

function isFinal({ type }: ProgressUpdate): boolean {
  return type === 'completed' || type === 'failed' || type === 'cancelled' || type === 'skipped';
}
