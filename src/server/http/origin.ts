import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import type { Principal } from '../auth/principal.ts';
import { isLoopback } from './client-address.ts';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Decides which pages may call the server: its own, and those of configured origins with a bearer token. All others are
 * refused, including other ports of this machine, which are the same site for cookies.
 */
export class OriginRule {
  private readonly allowed: ReadonlySet<string>;

  constructor(
    private readonly scheme: 'http' | 'https',
    origins: readonly string[],
  ) {
    this.allowed = new Set(origins);
  }

  /** Throws for a foreign origin. Configured origins get CORS headers. */
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

  /** Answers a CORS preflight request. */
  preflight(outgoing: ServerResponse): void {
    outgoing.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE');
    outgoing.setHeader(
      'Access-Control-Allow-Headers',
      'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Range, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name',
    );
    outgoing.setHeader('Access-Control-Max-Age', '600');
  }

  /**
   * Throws if another site's page may have made the browser send its cookie. Browsers state the origin of a request, so
   * a write without it is refused.
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
 * Decides which host names the server accepts. With DNS rebinding, a foreign page can point its own name to this machine
 * and share the server's origin. Its requests carry that name and are refused.
 */
export class HostRule {
  /** Lowercase. Names with a port match only that port. */
  private readonly names: ReadonlySet<string>;
  private readonly onlyLoopback: boolean;
  /** The last result: clients repeat themselves. */
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
        `The server does not accept the host name ${show(host ?? '')}. Use its address, or add the name to server.allowed_hosts.`,
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
