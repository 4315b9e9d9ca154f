import type { EventBody } from '../wire/event.ts';
import type { EventLog } from './event-log.ts';
import { frameOf } from './frame.ts';

/** How everything, or one batch, stands now. */
export type TakeSnapshot = (batch: string | undefined) => EventBody<'snapshot'>;

export interface Snapshot {
  /** Events behind this number are not in it. */
  readonly number: number;
  /** Shared by all who get it. */
  readonly bytes: Buffer;
}

/** After so long a snapshot is taken anew. */
const FRESH_MS = 1000;
const MAX_KEPT = 64;

/**
 * Snapshots, for many clients that come at once. Taking one reads the store; one that is a little old and the events
 * since then say the same.
 */
export class SnapshotCache {
  private readonly kept = new Map<string | undefined, Snapshot & { readonly takenAt: number }>();

  constructor(
    private readonly log: EventLog,
    private readonly take: TakeSnapshot,
  ) {}

  get(batch: string | undefined): Snapshot {
    const now = performance.now();
    const known = this.kept.get(batch);
    if (known !== undefined && now - known.takenAt < FRESH_MS && this.log.reachesBackTo(known.number))
      return known;
    const number = this.log.last;
    const bytes = Buffer.from(frameOf('snapshot', this.take(batch), this.log.idOf(number)));
    const snapshot = { number, bytes, takenAt: now };
    if (known === undefined && this.kept.size >= MAX_KEPT) this.kept.clear();
    this.kept.set(batch, snapshot);
    return snapshot;
  }

  /** What was kept is read no more. */
  clear(): void {
    this.kept.clear();
  }
}
