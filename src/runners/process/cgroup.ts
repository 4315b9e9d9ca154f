import { readFileSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCgroupMounts } from './cgroup-mounts.ts';
import {
  type CgroupFeature,
  type CgroupTree,
  killGroup,
  openCgroupTree,
  PROCS,
  pidsIn,
  removeStaleFolders,
} from './cgroup-tree.ts';

/** What the processes of a group may use together. */
export interface CgroupLimits {
  readonly memoryBytes?: number;
  /** Threads count too: the kernel makes no difference. */
  readonly tasks?: number;
}

const FEATURES: readonly CgroupFeature[] = ['memory', 'pids', 'cpu'];
const REMOVAL_LIMIT_MS = 5000;

/** The cgroups of one runner: a folder in each tree, and in it a group for each call. */
export class CgroupHome {
  private made = 0;
  private readonly groups = new Set<Cgroup>();

  private constructor(
    private readonly trees: readonly CgroupTree[],
    private readonly known: Map<CgroupFeature, string>,
  ) {}

  /** Why a feature is not to be had. */
  get problems(): ReadonlyMap<CgroupFeature, string> {
    return this.known;
  }

  static async open(): Promise<CgroupHome> {
    const trees: CgroupTree[] = [];
    const problems = new Map<CgroupFeature, string>();
    const missing = new Set(FEATURES);
    // Version 1 first: a controller that is there is not in version 2.
    for (const mount of findCgroupMounts().sort((a, b) => a.version - b.version)) {
      if (missing.size === 0) break;
      try {
        removeStaleFolders(mount);
        const tree = await openCgroupTree(mount, [...missing]);
        if (tree === undefined) continue;
        trees.push(tree);
        for (const feature of tree.features) missing.delete(feature);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        for (const feature of missing) problems.set(feature, message);
      }
    }
    for (const feature of missing) {
      if (!problems.has(feature)) problems.set(feature, 'no tree of cgroups with this controller is mounted');
    }
    for (const feature of [...problems.keys()]) if (!missing.has(feature)) problems.delete(feature);
    return new CgroupHome(trees, problems);
  }

  has(feature: CgroupFeature): boolean {
    return !this.known.has(feature);
  }

  /** A feature that seemed to be there does not work. */
  giveUp(feature: CgroupFeature, problem: string): void {
    this.known.set(feature, problem);
  }

  /** Makes a group in each tree and sets its limits. */
  async create(limits: CgroupLimits): Promise<Cgroup> {
    const name = `call-${++this.made}`;
    const parts = this.trees.map((tree) => ({ ...tree, folder: join(tree.folder, name) }));
    const group = new Cgroup(parts, () => this.groups.delete(group));
    this.groups.add(group);
    try {
      await group.make(limits);
      return group;
    } catch (error) {
      await group.remove();
      throw error;
    }
  }

  /** Ends what is still in it. */
  async close(): Promise<void> {
    await Promise.all([...this.groups].map((group) => group.remove()));
    await Promise.all(this.trees.map(({ folder }) => removeFolder(folder)));
  }
}

/** The group of one call, in as many trees as are needed for its features. */
export class Cgroup {
  constructor(
    private readonly parts: readonly CgroupTree[],
    private readonly onRemoved: () => void,
  ) {}

  /** The files through which a process enters. */
  get entrances(): string[] {
    return this.parts.map(({ folder }) => join(folder, PROCS));
  }

  async make(limits: CgroupLimits): Promise<void> {
    await Promise.all(this.parts.map((part) => makePart(part, limits)));
  }

  /** How often the kernel killed one of its processes because the memory was used up. */
  get oomKills(): number {
    const part = this.partWith('memory');
    if (part === undefined) return 0;
    const file = part.version === 1 ? 'memory.oom_control' : 'memory.events';
    return numberAfter('oom_kill', join(part.folder, file));
  }

  /** The CPU time that its processes have used, also those that ended. */
  get cpuMs(): number | undefined {
    const part = this.partWith('cpu');
    if (part === undefined) return undefined;
    if (part.version === 2) return numberAfter('usage_usec', join(part.folder, 'cpu.stat')) / 1000;
    return Number(readText(join(part.folder, 'cpuacct.usage'))) / 1e6;
  }

  get pids(): number[] {
    return this.parts.length === 0 ? [] : pidsIn(this.parts[0]!.folder);
  }

  /** Kills everything in it, wherever it went: a process cannot leave its group by itself. */
  kill(): void {
    for (const { folder } of this.parts) killGroup(folder);
  }

  /** Kills what is in it until nothing is, and removes it. */
  async remove(): Promise<void> {
    await Promise.all(this.parts.map(({ folder }) => removeFolder(folder)));
    this.onRemoved();
  }

  private partWith(feature: CgroupFeature): CgroupTree | undefined {
    return this.parts.find(({ features }) => features.includes(feature));
  }
}

async function makePart(
  { folder, version, features }: CgroupTree,
  { memoryBytes, tasks }: CgroupLimits,
): Promise<void> {
  await mkdir(folder);
  if (features.includes('pids') && tasks !== undefined)
    await writeFile(join(folder, 'pids.max'), String(tasks));
  if (!features.includes('memory') || memoryBytes === undefined) return;
  // Version 1 limits memory and swap together, version 2 swap alone. Not every kernel counts swap.
  if (version === 1) {
    await writeFile(join(folder, 'memory.limit_in_bytes'), String(memoryBytes));
    await writeIfThere(join(folder, 'memory.memsw.limit_in_bytes'), String(memoryBytes));
  } else {
    await writeFile(join(folder, 'memory.max'), String(memoryBytes));
    await writeIfThere(join(folder, 'memory.swap.max'), '0');
    await writeIfThere(join(folder, 'memory.oom.group'), '1');
  }
}

async function removeFolder(folder: string): Promise<void> {
  const deadline = performance.now() + REMOVAL_LIMIT_MS;
  for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
    killGroup(folder);
    try {
      return await rmdir(folder);
    } catch (error) {
      // Busy while a process in it is still dying. What stays for longer is for the next runner to clear away.
      const isBusy = (error as NodeJS.ErrnoException).code === 'EBUSY';
      if (!isBusy || performance.now() > deadline) return;
      await sleep(waitMs);
    }
  }
}

async function writeIfThere(file: string, value: string): Promise<void> {
  await writeFile(file, value, { flag: 'r+' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

function numberAfter(name: string, file: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(readText(file))?.[1] ?? 0);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
