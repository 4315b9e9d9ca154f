import { randomBytes } from 'node:crypto';
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createPrivateFile, readPrivateJson, writePrivateFile } from '../config/private-file.ts';
import { isVisibleTo, livesAsSeenBy, ownIdentity, type ProcessIdentity } from '../store/process-identity.ts';
import { isLoopback } from './http/client-address.ts';

/** A file next to the store that describes a running server to programs of the same user. */
export interface ServerRecord {
  readonly address: string;
  readonly pid: number;
  /** Grants full access while the server runs. */
  readonly token: string;
  readonly started_at: string;
  /** The SHA-256 of its certificate, if it speaks HTTPS. */
  readonly certificate: string | null;
  readonly process: ProcessIdentity;
}

/** The first server of a store has the plain name; others have their port in it: a process may have several. */
function recordFile(storeFile: string, port?: number): string {
  return `${storeFile}-server${port === undefined ? '' : `-${port}`}.json`;
}

/** Writes the record of a server and returns its path. Removes the records of dead servers. */
export function leaveRecord(storeFile: string, record: Omit<ServerRecord, 'pid' | 'process'>): string {
  const full: ServerRecord = { ...record, pid: process.pid, process: ownIdentity() };
  const text = `${JSON.stringify(full, null, 2)}\n`;
  const [plain, own] = [recordFile(storeFile), recordFile(storeFile, portOf(record.address))];
  for (const file of recordFiles(storeFile))
    if (file !== plain && isOver(file)) rmSync(file, { force: true });
  if (createPrivateFile(plain, text)) return plain;
  if (mayLive(readRecord(plain)) === undefined) {
    takeAway(plain);
    if (createPrivateFile(plain, text)) return plain;
  }
  writePrivateFile(own, text);
  return own;
}

/** Removes a stale record. If another server has replaced it in the meantime, the new one is restored. */
function takeAway(file: string): void {
  const aside = `${file}.${randomBytes(6).toString('hex')}.old`;
  try {
    // If several processes try, exactly one gets the file.
    renameSync(file, aside);
    const living = mayLive(readRecord(aside));
    if (living !== undefined) createPrivateFile(file, `${JSON.stringify(living, null, 2)}\n`);
  } catch {
    // Another process was faster.
  }
  rmSync(aside, { force: true });
}

/** Removes a record if it still belongs to this server. */
export function removeRecord(file: string, token: string): void {
  if (readRecord(file)?.token === token) rmSync(file, { force: true });
}

/** Returns the live servers of a store: their process exists, or they answer. */
export async function runningServers(storeFile: string): Promise<ServerRecord[]> {
  const records = recordFiles(storeFile).flatMap((file) => mayLive(readRecord(file)) ?? []);
  const areAlive = await Promise.all(records.map(isAlive));
  return records.filter((_, index) => areAlive[index]);
}

async function isAlive(record: ServerRecord): Promise<boolean> {
  if (livesAsSeenBy(ownIdentity(), record.process) === true) return true;
  const { isAnswering } = await import('./call-server.ts');
  return isAnswering(record);
}

/** Returns the ports of all servers of a store that may be alive. */
export function portsInUse(storeFile: string): Set<number> {
  const found = new Set<number>();
  for (const file of recordFiles(storeFile)) {
    const record = readRecord(file);
    if (record === undefined || isOver(file)) continue;
    found.add(portOf(record.address));
  }
  return found;
}

function portOf(address: string): number {
  const { port, protocol } = new URL(address);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** All records beside a store, the plain one first. */
function recordFiles(storeFile: string): string[] {
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
    .map((name) => join(folder, name));
}

/** Returns a record unless its server has ended or is in another container, where it cannot be reached. */
function mayLive(record: ServerRecord | undefined): ServerRecord | undefined {
  if (record === undefined) return undefined;
  const self = ownIdentity();
  return isVisibleTo(self, record.process) && livesAsSeenBy(self, record.process) !== false
    ? record
    : undefined;
}

/** Whether the server of a record has certainly ended. */
function isOver(file: string): boolean {
  const record = readRecord(file);
  return record !== undefined && livesAsSeenBy(ownIdentity(), record.process) === false;
}

function readRecord(file: string): ServerRecord | undefined {
  const record = readPrivateJson(file) as Partial<ServerRecord> | undefined;
  if (typeof record?.address !== 'string' || typeof record.token !== 'string') return undefined;
  const { process: other } = record;
  if (typeof other?.pid !== 'number' || typeof other.boot !== 'string') return undefined;
  return isOfThisMachine(record.address) ? (record as ServerRecord) : undefined;
}

/** A server of this store runs on this machine. A record that says otherwise is not ours. */
function isOfThisMachine(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const host = new URL(address).hostname.replace(/^\[|\]$/g, '');
  if (isLoopback(host) || host === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === host));
}
