import type { ServerResponse } from 'node:http';
import { VolleyError } from '../../core/errors.ts';
import type { Principal } from '../auth/principal.ts';

/** Rate limits per token or session, and per address. */
export class RequestLimits {
  private readonly clients: RateLimiter;
  private readonly addresses: RateLimiter;
  /** Counted separately, so that other pages and users of this machine cannot use up the owner's limit. */
  private readonly strangers: RateLimiter;

  constructor(perSecond: number) {
    this.clients = new RateLimiter(perSecond);
    this.addresses = new RateLimiter(perSecond);
    this.strangers = new RateLimiter(perSecond);
  }

  /** Throws if the limit is exceeded. */
  take({ client }: Principal, address: string, now: number): void {
    check(this.addresses.take(address, now));
    check(this.clients.take(client, now));
  }

  /** Counts a request without a valid token. */
  takeStranger(address: string, now: number): void {
    check(this.strangers.take(address, now));
  }
}

function check(retryAfter: number): void {
  if (retryAfter === 0) return;
  throw new VolleyError(
    'RATE_LIMITED',
    `Too many requests. Try again in ${retryAfter} s, or raise server.limits.requests_per_second.`,
    { retry_after: retryAfter },
  );
}

interface Bucket {
  left: number;
  at: number;
}

/** How many clients are tracked. */
const MAX_CLIENTS = 10_000;
/** The burst allowance, in seconds. */
const BURST_SECONDS = 2;

/** Allows each client a number of requests per second on average, with bursts of twice that. */
class RateLimiter {
  /** Least recently seen first. */
  private readonly buckets = new Map<string, Bucket>();
  private readonly max: number;
  /** The client seen last: clients repeat themselves. */
  private last: { readonly client: string; readonly bucket: Bucket } | undefined;

  constructor(private readonly perSecond: number) {
    this.max = perSecond * BURST_SECONDS;
  }

  /** Returns 0 if the request is allowed, otherwise the seconds until a retry. */
  take(client: string, now: number): number {
    if (this.last?.client !== client) this.last = { client, bucket: this.bucketOf(client, now) };
    const { bucket } = this.last;
    const passed = Math.max(0, now - bucket.at) / 1000;
    bucket.left = Math.min(this.max, bucket.left + passed * this.perSecond);
    bucket.at = now;
    if (bucket.left >= 1) {
      bucket.left--;
      return 0;
    }
    return Math.max(1, Math.ceil((1 - bucket.left) / this.perSecond));
  }

  /** Puts it behind all others. */
  private bucketOf(client: string, now: number): Bucket {
    const known = this.buckets.get(client);
    if (known !== undefined) this.buckets.delete(client);
    const bucket = known ?? { left: this.max, at: now };
    this.buckets.set(client, bucket);
    if (this.buckets.size > MAX_CLIENTS) this.forgetOne();
    return bucket;
  }

  private forgetOne(): void {
    const [oldest] = this.buckets.keys();
    if (oldest !== undefined) this.buckets.delete(oldest);
  }
}

/** The streams that each client holds open. */
export class ClientStreams {
  private readonly open = new Map<string, Set<ServerResponse>>();

  constructor(private readonly max: number) {}

  /** Counts a stream while its response is open. Throws if the client has too many. */
  take(clients: readonly string[], response: ServerResponse): void {
    for (const client of clients) {
      if ((this.open.get(client)?.size ?? 0) < this.max) continue;
      throw new VolleyError(
        'TOO_MANY_STREAMS',
        `This client already has ${this.max} streams. Close some, or raise server.limits.streams.`,
        { limit: this.max },
      );
    }
    for (const client of clients) {
      const streams = this.open.get(client) ?? new Set();
      this.open.set(client, streams.add(response));
    }
    response.once('close', () => {
      for (const client of clients) this.giveBack(client, response);
    });
  }

  /** Ends all streams of a client that has lost access. */
  cut(client: string): void {
    for (const response of this.open.get(client) ?? []) response.destroy();
  }

  private giveBack(client: string, response: ServerResponse): void {
    const streams = this.open.get(client);
    streams?.delete(response);
    if (streams?.size === 0) this.open.delete(client);
  }
}

/** Bytes that a client may leave unread before its connection is closed. */
const MAX_UNREAD_BYTES = 32 * 2 ** 20;

/** Limits the unread bytes of a response. The writer is never blocked. */
export function limitUnread(answer: Response, outgoing: ServerResponse): Response {
  if (answer.body === null) return answer;
  const reader = answer.body.getReader();
  const handOn = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        if (controller.desiredSize! <= 0) break;
        controller.enqueue(value);
      }
    } catch {
      // The response failed, or the client disconnected.
    }
    outgoing.destroy();
    await reader.cancel().catch(() => undefined);
  };
  const body = new ReadableStream<Uint8Array>(
    { start: (controller) => void handOn(controller), cancel: (reason) => reader.cancel(reason) },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  );
  const { status, statusText, headers } = answer;
  return new Response(body, { status, statusText, headers });
}
