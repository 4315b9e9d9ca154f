import type { Execution } from '../core/execution.ts';
import type { Job } from './job.ts';
import { Wakeups } from './wakeups.ts';

/** More than there are types of events. */
const MAX_TYPES = 16;

/** One event as it is kept; an update for people is made of it when somebody reads. */
export interface LoggedEvent {
  readonly eventId: number;
  readonly typeIndex: number;
  readonly at: number;
  readonly execution: Execution;
  readonly attempt: number;
  readonly detail: unknown;
}

/**
 * The last events of the engine, in a ring of parallel arrays: writing one makes no object. Event ids rise by one.
 *
 * Readers pull: each keeps a position of its own, so a slow one costs nothing and is told what it missed.
 */
export class EventLog {
  /** The id of the next event. */
  nextId = 1;
  private readonly mask: number;
  /** Of each event the time, then its type and the attempt in one number: what is written together stands together. */
  private readonly numbers: Float64Array;
  private readonly executions: (Execution | undefined)[];
  /** Made for the first event that has any. */
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

  /** The ids of the remembered events of one execution: a look at the whole log, for the few that are followed. */
  idsOf(execution: Execution): number[] {
    const ids: number[] = [];
    for (let id = this.oldestId; id < this.nextId; id++)
      if (this.executions[id & this.mask] === execution) ids.push(id);
    return ids;
  }
}
