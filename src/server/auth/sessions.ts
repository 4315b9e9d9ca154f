import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readPrivateJson, writePrivateFile } from '../../config/private-file.ts';
import type { Principal } from './principal.ts';
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
const MAX_SESSIONS = 100;

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
    this.sessions = [...living.slice(1 - MAX_SESSIONS), session];
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

/** Reads the sessions that a file keeps; undefined if it has no list of them. */
function readSessions(file: string): KeptSession[] | undefined {
  const kept = readPrivateJson(file);
  if (!Array.isArray(kept)) return undefined;
  return kept.slice(-MAX_SESSIONS).flatMap((entry: unknown) => {
    const { hash, expires_at: expiresAt } = Object(entry) as { hash?: unknown; expires_at?: unknown };
    if (typeof hash !== 'string' || typeof expiresAt !== 'number') return [];
    return [{ digest: digestFromText(hash), expiresAt }];
  });
}

/** Where the server of a port keeps its sessions, beside the store. */
export function sessionFile(storeFile: string, port: number): string {
  return `${storeFile}-sessions-${port}.json`;
}

/**
 * Takes away what servers have left that are long gone: files in which no session is good any more. Those of ports in use
 * are left alone, and so is a younger one, because its server may come back to the same port.
 */
export function clearSessionFiles(storeFile: string, portsInUse: ReadonlySet<number>, now: number): void {
  for (const { file, port } of sessionFiles(storeFile)) {
    if (portsInUse.has(port)) continue;
    const sessions = readSessions(file);
    const isOver = sessions?.every(({ expiresAt }) => expiresAt <= now) === true;
    if (isOver) removeSessionFile(file);
  }
}

/** One that cannot be removed keeps no server from starting or ending: there is nothing of worth in it. */
export function removeSessionFile(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The next start tries it again.
  }
}

function sessionFiles(storeFile: string): { readonly file: string; readonly port: number }[] {
  const folder = dirname(storeFile);
  const start = `${basename(storeFile)}-sessions-`;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const port = name.startsWith(start) ? /^(\d+)\.json$/.exec(name.slice(start.length))?.[1] : undefined;
    return port === undefined ? [] : [{ file: join(folder, name), port: Number(port) }];
  });
}

/** Long enough to find the browser. */
const LIFETIME_MS = 3_600_000;
const MAX_KEYS = 20;

/** Keys that are printed in an address and can be exchanged once for a session. */
export class OneTimeKeys {
  private keys: { readonly digest: Buffer; readonly expiresAt: number }[] = [];

  make(now: number): string {
    const key = newSecret('key');
    const kept = this.keys.filter(({ expiresAt }) => expiresAt > now).slice(1 - MAX_KEYS);
    this.keys = [...kept, { digest: digestOf(key), expiresAt: now + LIFETIME_MS }];
    return key;
  }

  /** Whether it was a key; from now on it is none. */
  redeem(key: string, now: number): boolean {
    const digest = digestOf(key);
    const found = this.keys.filter((one) => isSameSecret(one.digest, digest));
    this.keys = this.keys.filter((one) => !found.includes(one));
    return found.some(({ expiresAt }) => expiresAt > now);
  }
}
