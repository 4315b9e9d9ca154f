import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CgroupMount, foldersUpwards } from './cgroup-mounts.ts';

/** What a cgroup can do for us: limit memory, limit the number of processes, add up CPU time. */
export type CgroupFeature = 'memory' | 'pids' | 'cpu';

const OF_VERSION_1: Readonly<Record<CgroupFeature, string>> = {
  memory: 'memory',
  pids: 'pids',
  cpu: 'cpuacct',
};

const FILE_OF: Readonly<Record<1 | 2, Readonly<Record<CgroupFeature, string>>>> = {
  1: { memory: 'memory.limit_in_bytes', pids: 'pids.max', cpu: 'cpuacct.usage' },
  2: { memory: 'memory.max', pids: 'pids.max', cpu: 'cpu.stat' },
};

/** A folder of ours in one tree of cgroups, in which each call gets its own. */
export interface CgroupTree {
  readonly version: 1 | 2;
  readonly folder: string;
  readonly features: readonly CgroupFeature[];
}

/** The group of one call, or of a runner, in one tree. */
export const PROCS = 'cgroup.procs';

/** Makes a folder of ours for some of the wanted features. It throws where that is not allowed. */
export async function openCgroupTree(
  mount: CgroupMount,
  wanted: readonly CgroupFeature[],
): Promise<CgroupTree | undefined> {
  if (mount.version === 1) {
    const features = wanted.filter((feature) => mount.controllers.includes(OF_VERSION_1[feature]));
    if (features.length === 0) return undefined;
    return { version: 1, folder: await makeFolder(mount.ownFolder), features };
  }
  // A group of version 2 that holds processes cannot share out its controllers, but perhaps one above it does already.
  let problem: unknown;
  for (const parent of foldersUpwards(mount)) {
    try {
      await shareControllers(parent);
      const folder = await makeFolder(parent);
      await shareControllers(folder);
      const features = await featuresInside(folder, wanted);
      if (features.length === wanted.length) return { version: 2, folder, features };
      rmdirSync(folder);
      problem ??= new Error(`${parent} does not share out the controllers that are needed`);
    } catch (error) {
      problem ??= error;
    }
  }
  throw problem;
}

/** Removes what processes that are no more left here. */
export function removeStaleFolders(mount: CgroupMount): void {
  for (const parent of mount.version === 1 ? [mount.ownFolder] : foldersUpwards(mount)) {
    for (const name of namesIn(parent)) {
      const [, namespace, pid] = /^volley-(\d+)-(\d+)-[0-9a-f]+$/.exec(name) ?? [];
      // Process ids of another namespace mean nothing here.
      if (namespace !== pidNamespace() || isAlive(Number(pid))) continue;
      removeWithChildren(join(parent, name));
    }
  }
}

/** Kills everything in a group; true if there was anything. What forks meanwhile is found the next time. */
export function killGroup(folder: string): boolean {
  const pids = pidsIn(folder);
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
  }
  return pids.length > 0;
}

/** The processes of a group; none if there is no such group. */
export function pidsIn(folder: string): number[] {
  try {
    // A process of another namespace shows as 0, which as the target of a kill would be this one's own group.
    return readFileSync(join(folder, PROCS), 'utf8')
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 0);
  } catch {
    return [];
  }
}

async function makeFolder(parent: string): Promise<string> {
  // Chance, and no count: several copies of this module may be at work in this process.
  const folder = join(parent, `volley-${pidNamespace()}-${process.pid}-${randomBytes(4).toString('hex')}`);
  await mkdir(folder);
  return folder;
}

/** One after another: where one controller is missing, the others are still wanted. */
async function shareControllers(folder: string): Promise<void> {
  for (const name of ['+memory', '+pids']) {
    await writeFile(join(folder, 'cgroup.subtree_control'), name, { flag: 'r+' }).catch(() => {});
  }
}

/** Only a group in the folder shows what groups in it can do. */
async function featuresInside(folder: string, wanted: readonly CgroupFeature[]): Promise<CgroupFeature[]> {
  const trial = join(folder, 'trial');
  await mkdir(trial);
  const features = wanted.filter((feature) => existsSync(join(trial, FILE_OF[2][feature])));
  rmdirSync(trial);
  return features;
}

function removeWithChildren(folder: string): void {
  try {
    for (const name of namesIn(folder)) {
      if (killGroup(join(folder, name))) return;
      rmdirSync(join(folder, name));
    }
    rmdirSync(folder);
  } catch {
    // Something is still in it, or somebody else removes it too: the next runner will see.
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch {
    return [];
  }
}

/** What tells process ids of this system from those of others; 0 where there is but one kind. */
export function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
