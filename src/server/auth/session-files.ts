import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readSessions } from './sessions.ts';

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
