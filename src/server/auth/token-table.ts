import type { TokenSettings } from '../../config/config.ts';
import type { Principal } from './principal.ts';
import { digestFromText, digestOf, isSameSecret } from './secrets.ts';

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
