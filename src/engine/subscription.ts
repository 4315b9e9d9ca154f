import type { EventLog } from './event-log.ts';
import type { MissedUpdates, ProgressUpdate } from './updates.ts';
import { Wakeups } from './wakeups.ts';

/** Updates as they come. Ends by itself, or with `break` out of the loop. */
export interface ProgressStream extends AsyncIterableIterator<ProgressUpdate | MissedUpdates> {
  /** The stream itself: it can be read once. */
  [Symbol.asyncIterator](): ProgressStream;
  /** Ends the stream for its reader; a pending `next()` is answered. `break` calls it. */
  return(): Promise<IteratorResult<ProgressUpdate | MissedUpdates>>;
}

/** A position in the event log. */
export interface Cursor {
  /** What comes next, or undefined while there is nothing new. */
  next(): ProgressUpdate | MissedUpdates | undefined;
  /** Whether nothing will ever come any more. */
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
    if (this.wake !== undefined) throw new TypeError('next() was called again before its answer came');
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
    private readonly log: EventLog,
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

/** How many events a reader of one execution may be behind before the older half is given up. */
const MAX_BEHIND = 1024;

/** Follows the events of one execution, up to the one that settles it. */
export class ExecutionCursor implements Cursor {
  readonly arrivals = new Wakeups();
  private missed = 0;
  private hasEnded = false;

  constructor(
    private readonly log: EventLog,
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
    // The end is told even if it has left the log by now: then it is not one of those that are missed.
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
