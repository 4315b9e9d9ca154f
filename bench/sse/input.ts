import type { ServerResponse } from 'node:http';

/** What happened to a task, as the server tells it. */
export interface BenchEvent {
  readonly batch: string;
  readonly id: string;
  readonly seq: number;
  readonly type: 'started' | 'completed';
  readonly attempt: number;
  readonly at: number;
}

/** A server of events, with everything open that it has sent. */
export interface EventServer {
  readonly port: number;
  /** The responses of those who are connected. */
  readonly responses: readonly ServerResponse[];
  /** Sends an event to all of them. */
  publish(event: BenchEvent): void | Promise<void>;
  /** Throws if somebody did not get everything. */
  check(): void;
}

/** The id of the last event: whoever has read it has read all. */
export const LAST = 'the-last-of-all';

export function eventNumber(seq: number, count: number): BenchEvent {
  const id = seq === count ? LAST : `task-${seq}`;
  return {
    batch: 'default',
    id,
    seq,
    type: seq % 2 === 0 ? 'completed' : 'started',
    attempt: 1,
    at: 1_790_000_000_000 + seq,
  };
}
