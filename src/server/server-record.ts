import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { livesAsSeenBy, ownIdentity, type ProcessIdentity } from '../store/process-identity.ts';
import { readPrivateJson, writePrivateFile } from './auth/private-file.ts';

/** What a running server leaves beside its store, for commands and programs of the same user. */
export interface ServerRecord {
  readonly address: string;
  readonly pid: number;
  /** Admits to everything, for as long as the server runs. */
  readonly token: string;
  readonly started_at: string;
  /** The SHA-256 of its certificate, if it speaks HTTPS. */
  readonly certificate: string | null;
  readonly process: ProcessIdentity;
}

/** The first server of a store has the plain name; others have their number in it. */
function recordFile(storeFile: string, pid?: number): string {
  return `${storeFile}-server${pid === undefined ? '' : `-${pid}`}.json`;
}

/** Writes the record of this process, and says where. */
export function leaveRecord(storeFile: string, record: Omit<ServerRecord, 'pid' | 'process'>): string {
  const plain = recordFile(storeFile);
  const isTaken = livingRecord(plain) !== undefined;
  const file = isTaken ? recordFile(storeFile, process.pid) : plain;
  const full: ServerRecord = { ...record, pid: process.pid, process: ownIdentity() };
  writePrivateFile(file, `${JSON.stringify(full, null, 2)}\n`);
  return file;
}

/** Takes a record away, if it is still that of this server. */
export function removeRecord(file: string, token: string): void {
  if (livingRecord(file)?.token === token) rmSync(file, { force: true });
}

/** The servers of a store that are alive, as far as can be seen from here. */
export function runningServers(storeFile: string): ServerRecord[] {
  const folder = dirname(storeFile);
  const start = `${basename(storeFile)}-server`;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .filter((name) => name.startsWith(start) && /^(-\d+)?\.json$/.test(name.slice(start.length)))
    .sort((a, b) => a.length - b.length)
    .flatMap((name) => livingRecord(join(folder, name)) ?? []);
}

function livingRecord(file: string): ServerRecord | undefined {
  const record = readPrivateJson(file) as Partial<ServerRecord> | undefined;
  if (typeof record?.address !== 'string' || typeof record.token !== 'string') return undefined;
  const { process: other } = record;
  if (typeof other?.pid !== 'number' || typeof other.boot !== 'string') return undefined;
  // Of one that cannot be seen, in another container, nothing is known: it is not asked.
  return livesAsSeenBy(ownIdentity(), other) === true ? (record as ServerRecord) : undefined;
}
