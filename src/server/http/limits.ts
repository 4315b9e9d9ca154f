import type { ServerResponse } from 'node:http';
import { VolleyError } from '../../core/errors.ts';
import type { Principal } from '../auth/principal.ts';

/** How many requests may come: from each token and session, and from each address. */
export class RequestLimits {
  private readonly clients: RateLimiter;
  private readonly addresses: RateLimiter;
  /** Counted apart: foreign pages and users of this machine must not use up what its owner may send. */
  private readonly strangers: RateLimiter;

  constructor(perSecond: number) {
    this.clients = new RateLimiter(perSecond);
    this.addresses = new RateLimiter(perSecond);
    this.strangers = new RateLimiter(perSecond);
  }

  /** Throws if it is one too many. */
  take({ client }: Principal, address: string, now: number): void {
    check(this.addresses.take(address, now));
    check(this.clients.take(client, now));
  }

  /** The same for a request without a token that counts. */
  takeStranger(address: string, now: number): void {
    check(this.strangers.take(address, now));
  }
}

function check(retryAfter: number): void {
  if (retryAfter === 0) return;
  throw new VolleyError(
    'RATE_LIMITED',
    `There were too many requests: try again in ${retryAfter} s, or raise server.limits.requests_per_second.`,
    { retry_after: retryAfter },
  );
}

interface Bucket {
  left: number;
  at: number;
}

/** So many clients are remembered. */
const MAX_CLIENTS = 10_000;
/** So much can be saved up, in seconds. */
const BURST_SECONDS = 2;

/** Lets each client send so many requests in a second on average, twice that at once. */
class RateLimiter {
  /** Those who were heard of last stand last. */
  private readonly buckets = new Map<string, Bucket>();
  private readonly most: number;
  /** The one who was heard of last: clients repeat themselves. */
  private last: { readonly client: string; readonly bucket: Bucket } | undefined;

  constructor(private readonly perSecond: number) {
    this.most = perSecond * BURST_SECONDS;
  }

  /** 0 if the client may; else the seconds after which it may try again. */
  take(client: string, now: number): number {
    if (this.last?.client !== client) this.last = { client, bucket: this.bucketOf(client, now) };
    const { bucket } = this.last;
    const passed = Math.max(0, now - bucket.at) / 1000;
    bucket.left = Math.min(this.most, bucket.left + passed * this.perSecond);
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
    const bucket = known ?? { left: this.most, at: now };
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

  constructor(private readonly most: number) {}

  /** Takes a place for as long as the response is open; throws where the client has too many. */
  take(clients: readonly string[], response: ServerResponse): void {
    for (const client of clients) {
      if ((this.open.get(client)?.size ?? 0) < this.most) continue;
      throw new VolleyError(
        'TOO_MANY_STREAMS',
        `There are ${this.most} streams of this client already: close some, or raise server.limits.streams.`,
        { limit: this.most },
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

  /** Cuts all streams of a client that may not read any more. */
  cut(client: string): void {
    for (const response of this.open.get(client) ?? []) response.destroy();
  }

  private giveBack(client: string, response: ServerResponse): void {
    const streams = this.open.get(client);
    streams?.delete(response);
    if (streams?.size === 0) this.open.delete(client);
  }
}

/** Bytes of an answer that a client may leave unread. When more comes then, its connection ends. */
const MAX_UNREAD_BYTES = 32 * 2 ** 20;

/** The same answer, of which only so much waits for a client that does not read: its writer is never told to wait. */
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
      // The answer broke off, or its client has gone.
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
