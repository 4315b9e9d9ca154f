import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, pidNamespace } from './cgroup-tree.ts';

const NAME = /^volley-(\d+)-(\d+)-[A-Za-z0-9]{6}$/;

let sweeping: Promise<void> | undefined;

/** A folder for one call. The first time, those go that processes left here which were killed. */
export async function makeTemporaryFolder(): Promise<string> {
  sweeping ??= removeStaleTemporaryFolders();
  await sweeping;
  return mkdtemp(join(tmpdir(), `volley-${pidNamespace()}-${process.pid}-`));
}

export async function removeTemporaryFolder(folder: string): Promise<void> {
  // A folder that a tool made unreadable stays; that is no reason to fail its call.
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
}

/** Removes the folders of processes that are no more. */
export async function removeStaleTemporaryFolders(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const [, namespace, pid] = NAME.exec(name) ?? [];
    // Process ids of another namespace mean nothing here.
    if (namespace !== pidNamespace() || isAlive(Number(pid))) continue;
    const folder = join(tmpdir(), name);
    const stats = await lstat(folder).catch(() => undefined);
    // Anybody may make something of that name.
    if (stats?.isDirectory() && stats.uid === process.getuid?.()) await removeTemporaryFolder(folder);
  }
}
