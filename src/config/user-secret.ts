import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createPrivateFile, readPrivateJson } from './private-file.ts';
import { userFolder } from './user-folder.ts';

const HEX = /^[\da-f]{64}$/;

/** The file with the secret of this user. */
export function userSecretFile(env?: Readonly<Record<string, string | undefined>>): string {
  return join(userFolder(env), 'cache-key.json');
}

/**
 * A random secret of this user, made when it is first needed. Who can sign with it is this user: a repository can ship
 * files, but not signatures. Undefined if the file cannot be made, or others can read it.
 */
export function userSecret(file = userSecretFile()): Buffer | undefined {
  const found = read(file);
  if (found !== undefined) return found;
  try {
    // The approvals are in the same folder, which only its owner may write.
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    createPrivateFile(file, `${JSON.stringify({ key: randomBytes(32).toString('hex') })}\n`);
  } catch {
    return undefined;
  }
  // Another process may have been first.
  return read(file);
}

function read(file: string): Buffer | undefined {
  const { key } = Object(readPrivateJson(file)) as { readonly key?: unknown };
  return typeof key === 'string' && HEX.test(key) ? Buffer.from(key, 'hex') : undefined;
}
