import type { ServerResponse } from 'node:http';
import { type FrameLog, frameOf } from './frame-log.ts';
import type { SnapshotCache } from './snapshots.ts';

/** What the streams of a hub share. */
export interface StreamParts {
  readonly log: FrameLog;
  readonly snapshots: SnapshotCache;
  readonly maxBufferedBytes: number;
  /** Up to this number, events were handed to all streams that keep up. */
  readonly flushed: number;
  /** Hands out what has been gathered. */
  flush(): void;
  /** Counts a gap. */
  gapAnnounced(): void;
}

/** How many events one write to a client that catches up covers: about as much as a socket takes at once. */
const EVENTS_PER_WRITE = 64;

/**
 * The stream of one client. While it keeps up, it gets the same bytes as all others. When its bytes pile up, it gets
 * nothing more until they are gone, and only its position is kept; then it continues from the log, or hears of the gap.
 */
export class EventStream {
  /** Since when it has been behind, by the steady clock; undefined while it keeps up. */
  behindSince: number | undefined;
  /** While it is behind: the number of the last event that it was sent, or undefined if it needs a snapshot. */
  private cursor: number | undefined;
  /** It is being sent something else than events of the log. */
  private isBusy = false;
  private hasEnded = false;

  constructor(
    private readonly parts: StreamParts,
    private readonly response: ServerResponse,
    readonly batch: string | undefined,
    readonly expiresAt: number,
  ) {
    response.on('drain', () => void this.catchUp());
  }

  get isLive(): boolean {
    return this.behindSince === undefined && !this.hasEnded;
  }

  /** How many events it was not sent yet, of all batches. */
  get lag(): number {
    return this.behindSince === undefined ? 0 : this.parts.flushed - (this.cursor ?? 0);
  }

  /** Begins after the event `after` that the client has seen last, or with a snapshot if it has seen none of ours. */
  open(after: number | undefined, hasSeenOthers: boolean): void {
    this.behindSince = performance.now();
    this.cursor = after;
    void this.catchUp(hasSeenOthers ? null : undefined);
  }

  /** Begins with what the client missed on another server, and goes on after the event `after`. */
  openWith(missed: AsyncIterable<Buffer>, after: number): void {
    this.behindSince = performance.now();
    this.cursor = after;
    this.isBusy = true;
    void this.sendAll(missed);
  }

  /** Begins anew with a snapshot, after a gap. */
  restart(): void {
    this.behindSince ??= performance.now();
    this.cursor = undefined;
    void this.catchUp(null);
  }

  /** Hands it the events after `from`, as bytes that all streams share. */
  send(bytes: Buffer, from: number): void {
    if (!this.isLive) return;
    const { writableLength, writableNeedDrain } = this.response;
    // Below what a socket buffers anyway, there is no "drain".
    if (writableNeedDrain && writableLength > this.parts.maxBufferedBytes) {
      this.behindSince = performance.now();
      this.cursor = from;
      return;
    }
    this.response.write(bytes);
  }

  /** Sends a last text, and ends. */
  end(text: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.response.end(text);
  }

  destroy(): void {
    this.hasEnded = true;
    this.response.destroy();
  }

  private async catchUp(missedAtFirst?: null): Promise<void> {
    if (this.isBusy || this.behindSince === undefined) return;
    try {
      if (this.cursor === undefined) await this.skipAhead(missedAtFirst);
      await this.sendMissed();
    } catch {
      // The snapshot failed. The client connects again, and gets the error.
      this.destroy();
    }
  }

  private async sendAll(missed: AsyncIterable<Buffer>): Promise<void> {
    const { response } = this;
    try {
      for await (const bytes of missed) {
        if (this.hasEnded || response.destroyed) return;
        this.behindSince = performance.now();
        if (!response.write(bytes)) await drained(response);
      }
    } catch {
      // It connects again, with the id of what it got last.
      this.destroy();
      return;
    }
    this.isBusy = false;
    await this.catchUp();
  }

  private async sendMissed(): Promise<void> {
    const { parts, response, batch } = this;
    while (this.cursor! < parts.flushed) {
      if (this.hasEnded || response.writableNeedDrain) return;
      if (!parts.log.reachesBackTo(this.cursor!)) {
        await this.skipAhead(batch === undefined ? this.cursor! : null);
        continue;
      }
      const to = Math.min(this.cursor! + EVENTS_PER_WRITE, parts.flushed);
      const bytes = parts.log.bytesBetween(this.cursor!, to, batch);
      this.cursor = to;
      if (bytes.length > 0) response.write(bytes);
    }
    this.behindSince = undefined;
  }

  /** Sends a snapshot. If the client misses events after `after`, or an unknown number of them, it hears so first. */
  private async skipAhead(after: number | null | undefined): Promise<void> {
    // What was gathered is in the snapshot: handed out after it, it would come twice.
    this.parts.flush();
    const { number, bytes } = this.parts.snapshots.get(this.batch);
    this.isBusy = true;
    const snapshot = await bytes;
    this.isBusy = false;
    this.cursor = number;
    if (this.hasEnded) return;
    if (after !== undefined) {
      this.response.write(frameOf('gap', { missed: after === null ? null : number - after }));
      this.parts.gapAnnounced();
    }
    this.response.write(snapshot);
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      response.off('drain', over);
      response.off('close', over);
      resolve();
    };
    response.on('drain', over);
    response.on('close', over);
  });
}
