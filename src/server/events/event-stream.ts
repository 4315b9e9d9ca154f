import type { ServerResponse } from 'node:http';
import type { EventLog } from './event-log.ts';
import { frameOf } from './frame.ts';
import type { SnapshotCache } from './snapshots.ts';

/** What the streams of a hub share. */
export interface StreamParts {
  readonly log: EventLog;
  readonly snapshots: SnapshotCache;
  readonly maxBufferedBytes: number;
  /** Up to this number, events were handed to all streams that keep up. */
  readonly flushed: number;
  /** Hands out what has been gathered. */
  flush(): void;
  /** A stream was told that events are gone. */
  gapAnnounced(): void;
}

/** So many events are looked at for one write to a client that catches up: about as much as a socket takes at once. */
const EVENTS_PER_WRITE = 64;

/**
 * The stream of one client. While it keeps up it is given the same bytes as everybody else. One whose bytes pile up gets
 * nothing more until they are gone, which costs a number; then it goes on from the log, or is told of the gap.
 */
export class EventStream {
  /** Since when it has been behind, by the steady clock; undefined while it keeps up. */
  behindSince: number | undefined;
  /** While it is behind: the number of the last event that it has been sent, or undefined if it needs a snapshot. */
  private cursor: number | undefined;
  private hasEnded = false;
  private isSkipping = false;

  constructor(
    private readonly parts: StreamParts,
    private readonly response: ServerResponse,
    readonly batch: string | undefined,
    readonly expiresAt: number,
  ) {
    response.on('drain', () => this.catchUp());
  }

  get isLive(): boolean {
    return this.behindSince === undefined && !this.hasEnded;
  }

  /** How many events it has not been sent yet; of all batches. */
  get lag(): number {
    return this.behindSince === undefined ? 0 : this.parts.flushed - (this.cursor ?? 0);
  }

  /** Begins behind the event `after` that the client has seen last, or with a snapshot if it has seen none of ours. */
  open(after: number | undefined, hasSeenOthers: boolean): void {
    this.behindSince = performance.now();
    this.cursor = after;
    if (after === undefined) void this.skipAhead(hasSeenOthers ? null : undefined);
    else this.catchUp();
  }

  /** Hands it the events behind `from`, as bytes that all streams share. */
  send(bytes: Buffer, from: number): void {
    if (!this.isLive) return;
    const { writableLength, writableNeedDrain } = this.response;
    // Of what is less than a socket buffers anyway, nobody is told when it is gone.
    if (writableNeedDrain && writableLength > this.parts.maxBufferedBytes) {
      this.behindSince = performance.now();
      this.cursor = from;
      return;
    }
    this.response.write(bytes);
  }

  /** Says something last, and ends. */
  end(text: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.response.end(text);
  }

  destroy(): void {
    this.hasEnded = true;
    this.response.destroy();
  }

  private catchUp(): void {
    if (this.behindSince === undefined || this.hasEnded || this.isSkipping) return;
    const { log } = this.parts;
    while (this.cursor! < this.parts.flushed) {
      if (this.response.writableNeedDrain) return;
      if (!log.reachesBackTo(this.cursor!)) {
        void this.skipAhead(this.batch === undefined ? this.cursor! : null);
        return;
      }
      const to = Math.min(this.cursor! + EVENTS_PER_WRITE, this.parts.flushed);
      const bytes = log.bytesBetween(this.cursor!, to, this.batch);
      this.cursor = to;
      if (bytes.length > 0) this.response.write(bytes);
    }
    this.behindSince = undefined;
  }

  /**
   * Sends a snapshot, and what has come since; if events are gone that the client might have had, it is told so first.
   * While it waits for the snapshot, it stays behind.
   */
  private async skipAhead(after: number | null | undefined): Promise<void> {
    this.isSkipping = true;
    try {
      // What was gathered is in the snapshot: handed out after it, it would come twice.
      this.parts.flush();
      const { number, bytes } = await this.parts.snapshots.get(this.batch);
      if (this.hasEnded) return;
      if (after !== undefined) {
        this.response.write(frameOf('gap', { missed: after === null ? null : number - after }));
        this.parts.gapAnnounced();
      }
      this.cursor = number;
      this.response.write(bytes);
    } catch {
      // There is no snapshot to be had. The client comes back, and is told what is wrong.
      this.destroy();
    }
    this.isSkipping = false;
    this.catchUp();
  }
}
