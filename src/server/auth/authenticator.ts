import type { IncomingHttpHeaders } from 'node:http';
import type { TokenSettings } from '../../config/config.ts';
import { type Principal, unauthenticated } from './principal.ts';
import { digestFromText, digestOf, isSameSecret } from './secrets.ts';
import type { Sessions } from './sessions.ts';

const LONGEST = 512;
const BEARER = /^Bearer +([\w\-.~+/]+=*) *$/i;

/** Finds out who sends a request: by its bearer token, or else by its cookie. Tokens in addresses are never looked at. */
export class Authenticator {
  constructor(
    private readonly tokens: TokenTable,
    private readonly sessions: Sessions,
    private readonly cookie: SessionCookie,
  ) {}

  /** Undefined for somebody without any token; throws for one that is wrong or has expired. */
  identify({ authorization, cookie }: IncomingHttpHeaders, now: number): Principal | undefined {
    if (authorization !== undefined) {
      const token = authorization.length > LONGEST ? undefined : BEARER.exec(authorization)?.[1];
      const principal = token === undefined ? undefined : this.tokens.find(token);
      if (principal === undefined) throw unauthenticated('The server does not know this token');
      return principal;
    }
    const secret = this.cookie.read(cookie);
    // A browser keeps old cookies: it is not signed in, which only matters where that is needed.
    return secret === undefined || secret.length > LONGEST ? undefined : this.sessions.find(secret, now);
  }
}

const MAX_RECENT = 4;

/** The tokens of programs: those of the configuration, and the one of this server's own file. */
export class TokenTable {
  private readonly entries: { readonly digest: Buffer; readonly principal: Principal }[] = [];
  /** Tokens that were found right before, the newest first: they need not be digested again. */
  private recent: { readonly token: Buffer; readonly principal: Principal }[] = [];

  constructor(tokens: Readonly<Record<string, TokenSettings>>, localToken: string) {
    this.add('local', digestOf(localToken), 'admin');
    for (const [name, { hash, scope }] of Object.entries(tokens)) {
      // The name "local" in the configuration must not be taken for the owner's own in audit lines and limits.
      this.add(name === 'local' ? 'local (configured)' : name, digestFromText(hash), scope);
    }
  }

  /** Looks at all of them, whichever it is. */
  find(token: string): Principal | undefined {
    const bytes = Buffer.from(token);
    const known = this.recent.find((one) => isSameSecret(one.token, bytes));
    if (known !== undefined) return known.principal;
    const digest = digestOf(token);
    let found: Principal | undefined;
    for (const entry of this.entries) {
      if (isSameSecret(entry.digest, digest)) found = entry.principal;
    }
    if (found !== undefined)
      this.recent = [{ token: bytes, principal: found }, ...this.recent].slice(0, MAX_RECENT);
    return found;
  }

  private add(name: string, digest: Buffer, scope: Principal['scope']): void {
    this.entries.push({
      digest,
      principal: { name, kind: 'token', client: `token ${name}`, scope, expiresAt: undefined },
    });
  }
}

/**
 * The cookie of a session. Cookies know no ports, so its name has the port of the server: two servers on one machine
 * do not sign each other's browsers out.
 */
export class SessionCookie {
  private readonly name: string;

  constructor(
    port: number,
    private readonly isSecure: boolean,
  ) {
    this.name = isSecure ? `__Host-volley_${port}` : `volley_${port}`;
  }

  /** The secret that a request carries. */
  read(header: string | undefined): string | undefined {
    if (header === undefined) return undefined;
    for (const pair of header.split(';')) {
      const at = pair.indexOf('=');
      if (at > 0 && pair.slice(0, at).trim() === this.name) return pair.slice(at + 1).trim();
    }
    return undefined;
  }

  /** The header that gives it to the browser, for so long. */
  set(secret: string, maxAgeMs: number): string {
    return this.text(secret, Math.max(0, Math.floor(maxAgeMs / 1000)));
  }

  /** The header that takes it back. */
  clear(): string {
    return this.text('', 0);
  }

  private text(value: string, maxAge: number): string {
    const secure = this.isSecure ? '; Secure' : '';
    return `${this.name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`;
  }
}
