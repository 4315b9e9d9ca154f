import { VolleyError } from '../../core/errors.ts';
import type { Principal } from '../auth/principal.ts';
import { RateLimiter } from './rate-limiter.ts';

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
