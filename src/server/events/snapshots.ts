import type { EventBody } from '../wire/event.ts';
import type { EventLog } from './event-log.ts';
import { frameOf } from './frame.ts';

/** How everything, or one batch, stands now. */
export type TakeSnapshot = (batch: string | undefined) => Promise<EventBody<'snapshot'>>;

export interface Snapshot {
  /** Events behind this number are not in it. */
  readonly number: number;
  /** Shared by all who get it. */
  readonly bytes: Buffer;
}

interface KeptSnapshot {
  readonly number: number;
  readonly taken: Promise<Snapshot>;
  readonly takenAt: number;
}

/** After so long a snapshot is taken anew. */
const FRESH_MS = 1000;
const MAX_KEPT = 64;

/**
 * Snapshots, for many clients that come at once. Taking one reads the store; one that is a little old and the events
 * since then say the same.
 */
export class SnapshotCache {
  private readonly kept = new Map<string | undefined, KeptSnapshot>();

  constructor(
    private readonly log: EventLog,
    private readonly take: TakeSnapshot,
  ) {}

  get(batch: string | undefined): Promise<Snapshot> {
    const now = performance.now();
    const known = this.kept.get(batch);
    if (known !== undefined && now - known.takenAt < FRESH_MS && this.log.reachesBackTo(known.number))
      return known.taken;
    const number = this.log.last;
    const kept = { number, taken: this.takeAt(batch, number), takenAt: now };
    if (known === undefined && this.kept.size >= MAX_KEPT) this.kept.clear();
    this.kept.set(batch, kept);
    kept.taken.catch(() => {
      if (this.kept.get(batch) === kept) this.kept.delete(batch);
    });
    return kept.taken;
  }

  private async takeAt(batch: string | undefined, number: number): Promise<Snapshot> {
    const body = await this.take(batch);
    return { number, bytes: Buffer.from(frameOf('snapshot', body, this.log.idOf(number))) };
  }

  /** What was kept is read no more. */
  clear(): void {
    this.kept.clear();
  }
}
