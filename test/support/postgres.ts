import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../../scripts/start-postgres.ts';
import { isAlive } from './alive.ts';

/** The folder of the server that all tests share. The set-up step names it; the first test that needs it starts it. */
const FOLDER = 'VOLLEY_TEST_POSTGRES';
/** It need not survive a power failure. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };
const SECOND = 1000;

/** The address of the server that all tests share. Each uses a schema of its own. */
export async function sharedPostgres(): Promise<string> {
  const folder = process.env[FOLDER]!;
  const ready = join(folder, 'address');
  if (existsSync(ready)) return readFileSync(ready, 'utf8');
  try {
    mkdirSync(join(folder, 'starting'));
  } catch {
    return untilStarted(ready);
  }
  const { address } = await startPostgres(SETTINGS, { folder, staysOn: true });
  writeFileSync(`${ready}.new`, address);
  renameSync(`${ready}.new`, ready);
  return address;
}

async function untilStarted(ready: string): Promise<string> {
  for (let waited = 0; waited < 60 * SECOND; waited += 20) {
    if (existsSync(ready)) return readFileSync(ready, 'utf8');
    await sleep(20);
  }
  throw new Error('The test that starts PostgreSQL did not.');
}

/** Names the folder, for all tests. */
export function offerPostgres(folder: string): void {
  process.env[FOLDER] = folder;
}

/** Ends the server, if a test has started it. */
export async function stopSharedPostgres(): Promise<void> {
  const folder = process.env[FOLDER]!;
  const pidFile = join(folder, 'data', 'postmaster.pid');
  if (existsSync(pidFile)) {
    const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
    process.kill(pid, 'SIGQUIT');
    while (existsSync(pidFile) && isAlive(pid)) await sleep(10);
  }
  rmSync(folder, { recursive: true, force: true });
}
