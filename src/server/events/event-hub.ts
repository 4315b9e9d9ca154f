import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { VolleyError } from '../../core/errors.ts';
import { checkNumber } from '../../core/numbers.ts';
import type { EventBody, EventType } from '../wire/event.ts';
import { EventStream, type StreamParts } from './event-stream.ts';
import { FrameLog, frameOf } from './frame-log.ts';
import { type ReadSnapshot, SnapshotCache } from './snapshots.ts';

/** The limits of live events; all have a default. */
export interface HubOptions {
  /** How many streams may be open at once. Default 2000. */
  readonly maxSubscribers?: number;
  /** How many events are remembered for clients that come back. Default 16384. */
  readonly logSize?: number;
  /**
   * How many bytes may wait for one client, if they are more than a socket buffers by itself; a slower one is skipped
   * ahead. Default 1 MiB.
   */
  readonly maxBufferedBytes?: number;
  /** How often a heartbeat is sent. Default 15000. */
  readonly heartbeatMs?: number;
  /** How long a client may read nothing at all, while there is something, before its stream is ended. Default 60000. */
  readonly stalledMs?: number;
  /** How long a client should wait before it reconnects. Default 1000. */
  readonly retryMs?: number;
  /** The least time between two reports of one execution. Default 250. */
  readonly progressMs?: number;
  /** The least time between two views of one batch. Default 250. */
  readonly batchMs?: number;
}

export function checkHubOptions(options: HubOptions): Required<HubOptions> {
  const whole = (name: keyof HubOptions, fallback: number, min: number, max: number) =>
    checkNumber(name, options[name] ?? fallback, { min, max, integer: true });
  return {
    maxSubscribers: whole('maxSubscribers', 2000, 1, 100_000),
    logSize: whole('logSize', 16_384, 16, 2 ** 20),
    maxBufferedBytes: whole('maxBufferedBytes', 2 ** 20, 1024, 2 ** 28),
    heartbeatMs: whole('heartbeatMs', 15_000, 10, 600_000),
    stalledMs: whole('stalledMs', 60_000, 10, 3_600_000),
    retryMs: whole('retryMs', 1000, 10, 600_000),
    progressMs: whole('progressMs', 250, 0, 600_000),
    batchMs: whole('batchMs', 250, 0, 600_000),
  };
}

/** What a client asks for when it opens a stream. */
export interface StreamRequest {
  /** Only what happens to this batch. */
  readonly batch?: string;
  /** The id of the last event that the client has seen: the stream continues after it. */
  readonly lastEventId?: string;
  /** The moment (in milliseconds since 1970) from which on the client may not read any more. */
  readonly expiresAt?: number;
}

/** What a client missed on another server. */
export interface Missed {
  readonly frames: AsyncIterable<Buffer>;
  /** The events after this number follow. */
  readonly number: number;
}

/** Finds what came after the last event that a client got elsewhere; undefined if that is unknown. */
type FindMissed = (lastEventId: string, batch: string | undefined) => Promise<Missed | undefined>;

const MAX_PENDING = 512;
/** The pause after a flush: events that come meanwhile are one write. */
const MIN_PAUSE_MS = 1;
const MAX_PAUSE_MS = 50;
/** The pause as a multiple of the time that the flush took, so that many clients take at most a fifth of the thread. */
const PAUSE_FACTOR = 4;
/** How long clients have to take the last event. */
const END_MS = 1000;

/** What a hub has done, for metrics. */
export interface HubCounts {
  readonly events: number;
  readonly subscribers: number;
  /** Streams that were opened. */
  readonly opened: number;
  /** Streams that continued from the log. */
  readonly resumed: number;
  /** Gaps that were announced to clients. */
  readonly gaps: number;
  /** Streams that were cut because their clients read nothing. */
  readonly stalled: number;
  /** By how many events the slowest client is behind. */
  readonly lag: number;
}

/**
 * Sends events to all clients over SSE. An event is numbered, serialized once and remembered in a log of bounded length.
 * The first one goes out at the end of its turn of the event loop; what comes right after it is gathered for a moment,
 * and goes to every client as the same bytes, in one write. Publishing never waits for anybody.
 */
export class EventHub implements StreamParts {
  readonly log: FrameLog;
  readonly snapshots: SnapshotCache;
  flushed = 0;
  private readonly options: Required<HubOptions>;
  private readonly everything = new Set<EventStream>();
  private readonly byBatch = new Map<string, Set<EventStream>>();
  private readonly heartbeat: NodeJS.Timeout;
  /** This many events are flushed before the turn is over; fewer than the log keeps. */
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

  constructor(
    take: ReadSnapshot,
    options: HubOptions = {},
    private readonly findMissed?: FindMissed,
  ) {
    this.options = checkHubOptions(options);
    this.maxPending = Math.min(MAX_PENDING, this.options.logSize / 2);
    // Names this process: numbers of another one mean nothing here.
    this.log = new FrameLog(randomBytes(6).toString('hex'), this.options.logSize);
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

  /** Sends an event to all. The body must not change afterwards: it is serialized later, or never. `batch` is empty for what belongs to none. */
  publish<T extends EventType>(type: T, batch: string, body: EventBody<T>): void {
    this.log.append(type, batch, body);
    if (this.open === 0) {
      this.flushed = this.log.last;
      return;
    }
    if (this.log.last - this.flushed >= this.maxPending) this.flush();
    else this.due ??= this.flushSoon();
  }

  /**
   * Takes over a response to which nothing has been written. Rejects, and leaves the response alone, when there are too
   * many streams, the server is closing, or there is no snapshot to be had.
   */
  async subscribe({ batch, lastEventId, expiresAt }: StreamRequest, response: ServerResponse): Promise<void> {
    this.checkRoom();
    const after = lastEventId === undefined ? undefined : this.log.numberOf(lastEventId);
    const isResumed = after !== undefined && this.log.reachesBackTo(after);
    const missed =
      isResumed || lastEventId === undefined ? undefined : await this.findMissed?.(lastEventId, batch);
    if (!isResumed && missed === undefined) {
      await this.snapshots.get(batch).bytes;
      this.checkRoom();
    }
    if (response.destroyed) return;
    if (isResumed || missed !== undefined) this.resumed++;
    // What came before belongs to the past of the new stream, and what comes after it to everybody.
    this.flush();
    const stream = new EventStream(this, response, batch, expiresAt ?? Number.POSITIVE_INFINITY);
    this.add(stream, response);
    begin(response, this.options.retryMs);
    if (missed === undefined) stream.open(after, lastEventId !== undefined);
    else stream.openWith(missed.frames, missed.number);
  }

  /** Events are lost that belonged between the last one and the next: every client gets a gap and a snapshot. */
  skip(): void {
    this.flush();
    this.log.forget();
    this.flushed = this.log.last;
    this.snapshots.clear();
    for (const stream of this.streams()) stream.restart();
  }

  /** Ends all streams with an `end` event. */
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
      const bytes = log.serialize(from, to);
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
