import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import type { Principal } from '../auth/principal.ts';
import { isLoopback } from './client-address.ts';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Which pages may call the server. Its own may; those of configured origins may with a bearer token. All others are
 * refused, other ports of this machine included: for cookies these are the same site.
 */
export class OriginRule {
  private readonly allowed: ReadonlySet<string>;

  constructor(
    private readonly scheme: 'http' | 'https',
    origins: readonly string[],
  ) {
    this.allowed = new Set(origins);
  }

  /** Throws for a page of a foreign origin. A configured one gets the headers that its browser asks for. */
  check({ headers }: IncomingMessage, outgoing: ServerResponse): void {
    const { origin } = headers;
    if (origin === undefined || origin === `${this.scheme}://${headers.host}`) return;
    if (!this.allowed.has(origin)) throw foreign(`The origin ${show(origin)}`);
    outgoing.setHeader('Access-Control-Allow-Origin', origin);
    outgoing.setHeader(
      'Access-Control-Expose-Headers',
      'Retry-After, Location, Content-Range, Mcp-Session-Id',
    );
    outgoing.setHeader('Vary', 'Origin');
  }

  /** The answer to a browser that asks whether a page may send a request. */
  preflight(outgoing: ServerResponse): void {
    outgoing.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE');
    outgoing.setHeader(
      'Access-Control-Allow-Headers',
      'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Range, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name',
    );
    outgoing.setHeader('Access-Control-Max-Age', '600');
  }

  /**
   * Throws where somebody else's page may have made the browser send its cookie. A browser says where a request comes
   * from; a request that changes something and does not say so is refused.
   */
  checkCookieRequest({ headers, method = 'GET' }: IncomingMessage, { kind }: Principal): void {
    if (kind !== 'session') return;
    const { origin } = headers;
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw foreign('A page of another origin');
    if (origin !== undefined && this.allowed.has(origin)) throw foreign('A page without a token of its own');
    if (SAFE.has(method) || site === 'same-origin' || origin !== undefined) return;
    throw foreign('A request with a cookie but without an origin');
  }
}

function foreign(who: string): VolleyError {
  return new VolleyError(
    'ORIGIN_NOT_ALLOWED',
    `${who} may not call this server. If it should, add its origin to server.allowed_origins and let it send a bearer token.`,
  );
}

const HOST = /^(\[[\da-f:.]+\]|[a-z\d._-]+)(?::\d{1,5})?$/i;

/**
 * Which names the server answers to. A foreign page can let its own name lead to this machine (DNS rebinding), and
 * would then be of the same origin as the server: its requests carry that name, and are refused.
 */
export class HostRule {
  /** In small letters; some with a port, which must then be that of the request. */
  private readonly names: ReadonlySet<string>;
  private readonly onlyLoopback: boolean;
  /** What was found right before: clients repeat themselves. */
  private lastAllowed: string | undefined;

  constructor(listensOn: string, allowedHosts: readonly string[]) {
    this.names = new Set(['localhost', listensOn, ...allowedHosts].map((host) => host.toLowerCase()));
    this.onlyLoopback = isLoopback(listensOn);
  }

  check(host: string | undefined): void {
    if (host !== undefined && host === this.lastAllowed) return;
    if (!this.isAllowed(host)) {
      throw new VolleyError(
        'HOST_NOT_ALLOWED',
        `The server does not go by the name ${show(host ?? '')}: call it by its address, or add the name to server.allowed_hosts.`,
      );
    }
    this.lastAllowed = host;
  }

  private isAllowed(host: string | undefined): boolean {
    const [whole, name] = HOST.exec(host?.toLowerCase() ?? '') ?? [];
    if (whole === undefined || name === undefined) return false;
    if (this.names.has(name) || this.names.has(whole)) return true;
    const address = name.startsWith('[') ? name.slice(1, -1) : name;
    return isIP(address) !== 0 && (!this.onlyLoopback || isLoopback(address));
  }
}
