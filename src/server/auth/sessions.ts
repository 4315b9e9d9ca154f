import { rmSync } from 'node:fs';
import type { Principal } from './principal.ts';
import { readPrivateJson, writePrivateFile } from './private-file.ts';
import { digestFromText, digestOf, digestText, isSameSecret, newSecret } from './secrets.ts';

interface Session {
  readonly digest: Buffer;
  readonly principal: Principal & { readonly expiresAt: number };
}

interface KeptSession {
  readonly digest: Buffer;
  readonly expiresAt: number;
}

/** The oldest ends when there are more. */
const MOST = 100;

/**
 * Browsers that are signed in. Only digests are kept, in a file of the owner's, so that a restart of the server signs
 * nobody out and the file signs nobody in.
 */
export class Sessions {
  private sessions: Session[];
  private count = 0;

  constructor(
    private readonly file: string,
    private readonly lifetimeMs: number,
    now: number,
  ) {
    this.sessions = (readSessions(file) ?? [])
      .filter(({ expiresAt }) => expiresAt > now)
      .map(({ digest, expiresAt }) => this.sessionOf(digest, expiresAt));
  }

  /** The value of the cookie, and who has it from now on. */
  open(now: number): { readonly secret: string; readonly principal: Principal } {
    const secret = newSecret('session');
    const session = this.sessionOf(digestOf(secret), now + this.lifetimeMs);
    const living = this.sessions.filter(({ principal }) => principal.expiresAt > now);
    this.sessions = [...living.slice(1 - MOST), session];
    this.write();
    return { secret, principal: session.principal };
  }

  find(secret: string, now: number): Principal | undefined {
    const digest = digestOf(secret);
    let found: Principal | undefined;
    for (const session of this.sessions) {
      if (isSameSecret(session.digest, digest) && session.principal.expiresAt > now)
        found = session.principal;
    }
    return found;
  }

  /** Who had it, if anybody. */
  end(secret: string): Principal | undefined {
    const digest = digestOf(secret);
    const ended = this.sessions.find((session) => isSameSecret(session.digest, digest));
    this.sessions = this.sessions.filter((session) => session !== ended);
    this.write();
    return ended?.principal;
  }

  private sessionOf(digest: Buffer, expiresAt: number): Session {
    this.count++;
    const name = `session ${this.count}`;
    return {
      digest,
      principal: { name, kind: 'session', client: name, scope: 'admin', expiresAt },
    };
  }

  private write(): void {
    if (this.sessions.length === 0) {
      rmSync(this.file, { force: true });
      return;
    }
    const kept = this.sessions.map(({ digest, principal }) => ({
      hash: digestText(digest),
      expires_at: principal.expiresAt,
    }));
    writePrivateFile(this.file, `${JSON.stringify(kept)}\n`);
  }
}

/** What a file keeps; undefined where there is none of ours. */
export function readSessions(file: string): KeptSession[] | undefined {
  const kept = readPrivateJson(file);
  if (!Array.isArray(kept)) return undefined;
  return kept.slice(-MOST).flatMap((entry: unknown) => {
    const { hash, expires_at: expiresAt } = Object(entry) as { hash?: unknown; expires_at?: unknown };
    if (typeof hash !== 'string' || typeof expiresAt !== 'number') return [];
    return [{ digest: digestFromText(hash), expiresAt }];
  });
}
