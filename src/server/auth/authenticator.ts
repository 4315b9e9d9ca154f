import type { IncomingHttpHeaders } from 'node:http';
import type { SessionCookie } from './cookie.ts';
import { type Principal, unauthenticated } from './principal.ts';
import type { Sessions } from './sessions.ts';
import type { TokenTable } from './token-table.ts';

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
