import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { VolleyError } from '../../core/errors.ts';
import type { EventBody, EventType } from '../wire/event.ts';
import { EventLog } from './event-log.ts';
import { EventStream, type StreamParts } from './event-stream.ts';
import { frameOf } from './frame.ts';
import { type CheckedHubOptions, checkHubOptions, type HubOptions } from './hub-options.ts';
import type { LiveEvents, StreamRequest } from './live-events.ts';
import { SnapshotCache, type TakeSnapshot } from './snapshots.ts';

const MAX_PENDING = 512;
/** After events were handed out, no more are for so long: what comes meanwhile is one write. */
const MIN_PAUSE_MS = 1;
const MAX_PAUSE_MS = 50;
/** And for so many times as long as it took, so that many clients take a fifth of the thread at most. */
const PAUSE_FACTOR = 4;
/** How long clients have to take the last event. */
const END_MS = 1000;

/** What a hub has done, for metrics. */
export interface HubCounts {
  readonly events: number;
  readonly subscribers: number;
  /** Streams that were opened. */
  readonly opened: number;
  /** Streams that went on from the log. */
  readonly resumed: number;
  /** How often a stream was told that events are gone. */
  readonly gaps: number;
  /** Streams that were ended because nobody read them. */
  readonly stalled: number;
  /** By how many events the slowest client is behind. */
  readonly lag: number;
}

/**
 * Live events over SSE. An event is numbered, written as text once and remembered in a log of bounded length. The first
 * one goes out at the end of its turn of the event loop; what comes right after it is gathered for a moment, and goes to
 * every client as the same bytes, in one write. Publishing never waits for anybody.
 */
export class EventHub implements LiveEvents, StreamParts {
  readonly log: EventLog;
  readonly snapshots: SnapshotCache;
  flushed = 0;
  private readonly options: CheckedHubOptions;
  private readonly everything = new Set<EventStream>();
  private readonly byBatch = new Map<string, Set<EventStream>>();
  private readonly heartbeat: NodeJS.Timeout;
  /** So many events are written out before the turn is over; fewer than the log remembers. */
  private readonly maxPending: number;
  /** Until then events are gathered, by the steady clock. */
  private pauseUntil = 0;
  private due: NodeJS.Timeout | NodeJS.Immediate | undefined;
  private closing: Promise<void> | undefined;
  private open = 0;
  private opened = 0;
  private resumed = 0;
  private gaps = 0;
  private stalled = 0;
  private whenEmpty: (() => void) | undefined;

  constructor(take: TakeSnapshot, options: HubOptions = {}) {
    this.options = checkHubOptions(options);
    this.maxPending = Math.min(MAX_PENDING, this.options.logSize / 2);
    // Names this process: numbers of another one mean nothing here.
    this.log = new EventLog(randomBytes(6).toString('hex'), this.options.logSize);
    this.snapshots = new SnapshotCache(this.log, take);
    this.heartbeat = setInterval(() => this.beat(), this.options.heartbeatMs).unref();
  }

  get subscribers(): number {
    return this.open;
  }

  get maxBufferedBytes(): number {
    return this.options.maxBufferedBytes;
  }

  counts(): HubCounts {
    let lag = 0;
    for (const stream of this.streams()) lag = Math.max(lag, stream.lag);
    const { open: subscribers, opened, resumed, gaps, stalled } = this;
    return { events: this.log.last, subscribers, opened, resumed, gaps, stalled, lag };
  }

  /** Tells everybody. The body must not be changed afterwards: it is written out later, or never. */
  publish<T extends EventType>(type: T, batch: string, body: EventBody<T>): void {
    this.log.append(type, batch, body);
    if (this.open === 0) {
      this.flushed = this.log.last;
      return;
    }
    if (this.log.last - this.flushed >= this.maxPending) this.flush();
    else this.due ??= this.flushSoon();
  }

  async subscribe(request: StreamRequest, response: ServerResponse): Promise<void> {
    this.checkRoom();
    if (response.destroyed) return;
    const { batch, lastEventId } = request;
    const seen = lastEventId === undefined ? undefined : this.log.numberOf(lastEventId);
    if (seen === undefined || !this.log.reachesBackTo(seen)) {
      // If there is none to be had, the response is left to whoever can say so.
      await this.snapshots.get(batch);
      this.checkRoom();
      if (response.destroyed) return;
    } else this.resumed++;
    // What came before belongs to the past of the new stream, and what comes after it to everybody.
    this.flush();
    const stream = new EventStream(this, response, batch, request.expiresAt ?? Number.POSITIVE_INFINITY);
    this.add(stream, response);
    begin(response, this.options.retryMs);
    stream.open(seen, lastEventId !== undefined);
  }

  close(reason: 'shutdown'): Promise<void> {
    this.closing ??= this.closeOnce(reason);
    return this.closing;
  }

  gapAnnounced(): void {
    this.gaps++;
  }

  private readonly onDue = (): void => {
    this.due = undefined;
    this.flush();
  };

  private flushSoon(): NodeJS.Timeout | NodeJS.Immediate {
    const pauseMs = this.pauseUntil - performance.now();
    return pauseMs > 0 ? setTimeout(this.onDue, pauseMs).unref() : setImmediate(this.onDue);
  }

  private checkRoom(): void {
    if (this.closing !== undefined)
      throw new VolleyError('SERVER_CLOSING', 'The server is stopping: connect again when it is back.');
    const { maxSubscribers } = this.options;
    if (this.open < maxSubscribers) return;
    throw new VolleyError(
      'TOO_MANY_STREAMS',
      `There are ${maxSubscribers} streams of events already: close some, or try again later.`,
      { limit: maxSubscribers },
    );
  }

  private add(stream: EventStream, response: ServerResponse): void {
    const { batch } = stream;
    const streams = batch === undefined ? this.everything : (this.byBatch.get(batch) ?? new Set());
    if (batch !== undefined) this.byBatch.set(batch, streams);
    streams.add(stream);
    this.open++;
    this.opened++;
    // A broken connection is no error of ours, and "close" follows it.
    response.on('error', () => undefined);
    response.once('close', () => {
      streams.delete(stream);
      if (batch !== undefined && streams.size === 0 && this.byBatch.get(batch) === streams)
        this.byBatch.delete(batch);
      this.open--;
      if (this.open === 0) this.whenEmpty?.();
    });
  }

  private *streams(): Generator<EventStream, void, undefined> {
    yield* this.everything;
    for (const streams of this.byBatch.values()) yield* streams;
  }

  flush(): void {
    const { log, flushed: from } = this;
    const to = log.last;
    if (from === to) return;
    this.flushed = to;
    const start = performance.now();
    if (this.everything.size > 0) {
      const bytes = log.writeOut(from, to);
      for (const stream of this.everything) stream.send(bytes, from);
    }
    if (this.byBatch.size > 0) this.flushByBatch(from, to);
    const end = performance.now();
    const pauseMs = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, (end - start) * PAUSE_FACTOR));
    this.pauseUntil = end + pauseMs;
  }

  private flushByBatch(from: number, to: number): void {
    const parts = new Map<string, Buffer[]>();
    for (let number = from + 1; number <= to; number++) {
      const batch = this.log.batchOf(number);
      if (!this.byBatch.has(batch)) continue;
      const known = parts.get(batch);
      if (known === undefined) parts.set(batch, [this.log.bytesOf(number)]);
      else known.push(this.log.bytesOf(number));
    }
    for (const [batch, pieces] of parts) {
      const bytes = Buffer.concat(pieces);
      for (const stream of this.byBatch.get(batch)!) stream.send(bytes, from);
    }
  }

  /**
   * A sign of life, with the number up to which the client has everything, so that one who heard nothing for long has no
   * gap when it comes back: an id without data is kept by the client and shown to nobody.
   */
  private beat(): void {
    this.flush();
    const bytes = Buffer.from(`:\nid: ${this.log.idOf(this.flushed)}\n\n`);
    const now = performance.now();
    for (const stream of this.streams()) {
      if (Date.now() >= stream.expiresAt) {
        stream.end(frameOf('end', { reason: 'expired' }));
      } else if (stream.behindSince !== undefined && now - stream.behindSince > this.options.stalledMs) {
        this.stalled++;
        stream.destroy();
      } else {
        stream.send(bytes, this.flushed);
      }
    }
  }

  private async closeOnce(reason: 'shutdown'): Promise<void> {
    clearInterval(this.heartbeat);
    this.flush();
    this.snapshots.clear();
    const text = frameOf('end', { reason });
    for (const stream of this.streams()) stream.end(text);
    if (this.open === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        for (const stream of this.streams()) stream.destroy();
      }, END_MS);
      this.whenEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/**
 * The end of the connection is the end of the stream, so no chunks are needed: each would cost three writes instead of
 * one, for every client.
 */
function begin(response: ServerResponse, retryMs: number): void {
  response.removeHeader('Transfer-Encoding');
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
    Connection: 'close',
  });
  response.socket?.setNoDelay(true);
  response.socket?.setTimeout(0);
  response.write(`retry: ${retryMs}\n\n`);
}
