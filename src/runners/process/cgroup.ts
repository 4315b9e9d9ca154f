import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmdirSync,
  writeSync,
} from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** What cgroups are used for: limit memory, limit the number of processes, measure CPU time. */
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

const PEAK_FILE = { 1: 'memory.max_usage_in_bytes', 2: 'memory.peak' } as const;

/** Our folder in one cgroup hierarchy, in which each call gets its own. */
export interface CgroupTree {
  readonly version: 1 | 2;
  readonly folder: string;
  readonly features: readonly CgroupFeature[];
}

/** The group of one call, or of a runner, in one hierarchy. */
const PROCS = 'cgroup.procs';

/** Creates our folder for some of the wanted features. Throws if that is not allowed. */
export async function openCgroupTree(
  mount: CgroupMount,
  wanted: readonly CgroupFeature[],
): Promise<CgroupTree | undefined> {
  if (mount.version === 1) {
    const features = wanted.filter((feature) => mount.controllers.includes(OF_VERSION_1[feature]));
    if (features.length === 0) return undefined;
    return { version: 1, folder: await makeFolder(mount.ownFolder), features };
  }
  // A version 2 group that contains processes cannot delegate its controllers, but one above it may already do so.
  let problem: unknown;
  for (const parent of foldersUpwards(mount)) {
    try {
      await shareControllers(parent);
      const folder = await makeFolder(parent);
      await shareControllers(folder);
      const features = await featuresInside(folder, wanted);
      if (features.length === wanted.length) return { version: 2, folder, features };
      rmdirSync(folder);
      problem ??= new Error(`${parent} does not delegate the required controllers`);
    } catch (error) {
      problem ??= error;
    }
  }
  throw problem;
}

/** Removes groups left by processes that no longer exist. */
function removeStaleFolders(mount: CgroupMount): void {
  for (const parent of mount.version === 1 ? [mount.ownFolder] : foldersUpwards(mount)) {
    for (const name of namesIn(parent)) {
      const [, namespace, pid] = /^volley-(\d+)-(\d+)-[0-9a-f]+$/.exec(name) ?? [];
      // Process ids of another namespace are meaningless here.
      if (namespace !== pidNamespace() || isAlive(Number(pid))) continue;
      removeWithChildren(join(parent, name));
    }
  }
}

/**
 * Kills everything in a group; returns true if there was anything. Processes forked meanwhile are found the next time.
 */
function killGroup(folder: string): boolean {
  const pids = pidsIn(folder);
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It is already gone.
    }
  }
  return pids.length > 0;
}

/** The processes of a group; empty if the group does not exist. */
function pidsIn(folder: string): number[] {
  try {
    // A process of another namespace shows as 0, which as a kill target would be our own process group.
    return readFileSync(join(folder, PROCS), 'utf8')
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 0);
  } catch {
    return [];
  }
}

async function makeFolder(parent: string): Promise<string> {
  // Random, not a counter: several copies of this module may run in this process.
  const folder = join(parent, `volley-${pidNamespace()}-${process.pid}-${randomBytes(4).toString('hex')}`);
  await mkdir(folder);
  return folder;
}

/** One by one: if one controller is missing, the others are still wanted. */
async function shareControllers(folder: string): Promise<void> {
  for (const name of ['+memory', '+pids']) {
    await writeFile(join(folder, 'cgroup.subtree_control'), name, { flag: 'r+' }).catch(() => {});
  }
}

/** Only a group in the folder shows what its groups can do. */
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
    // It is not empty, or another process removes it too. The next runner cleans up.
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

/** The PID namespace; 0 if there is only one. */
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

/** The limits of a group's processes together. */
export interface CgroupLimits {
  readonly memoryBytes?: number;
  /** Threads count too: the kernel makes no difference. */
  readonly tasks?: number;
}

const FEATURES: readonly CgroupFeature[] = ['memory', 'pids', 'cpu'];
const REMOVAL_LIMIT_MS = 5000;

/** The most empty groups that are kept for further calls, each with a handful of open files. */
const MAX_SPARE = 32;
/** A group is used again only if it holds less than this share of its memory limit: what a call left may count for a while. */
const SPARE_MEMORY_SHARE = 0.1;

/**
 * The cgroups of one runner: a folder in each hierarchy, and in it a group per call. An empty group is used again by the
 * next call with the same limits, because making and removing one costs more than many calls.
 */
export class CgroupHome {
  private made = 0;
  private readonly groups = new Set<Cgroup>();
  private readonly spare = new Map<string, Cgroup[]>();
  private spareCount = 0;

  private constructor(
    private readonly trees: readonly CgroupTree[],
    private readonly known: Map<CgroupFeature, string>,
  ) {}

  /** Why a feature is not available. */
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
      if (!problems.has(feature))
        problems.set(feature, 'no cgroup hierarchy with this controller is mounted');
    }
    for (const feature of [...problems.keys()]) if (!missing.has(feature)) problems.delete(feature);
    return new CgroupHome(trees, problems);
  }

  has(feature: CgroupFeature): boolean {
    return !this.known.has(feature);
  }

  /** Marks a feature as unavailable after it failed. */
  giveUp(feature: CgroupFeature, problem: string): void {
    this.known.set(feature, problem);
  }

  /** Returns a group in each hierarchy with these limits. */
  async create(limits: CgroupLimits): Promise<Cgroup> {
    const key = `${limits.memoryBytes} ${limits.tasks}`;
    const spare = this.spare.get(key)?.pop();
    if (spare !== undefined) {
      this.spareCount--;
      spare.begin();
      return spare;
    }
    const name = `call-${++this.made}`;
    const parts = this.trees.map((tree) => ({ ...tree, folder: join(tree.folder, name) }));
    const group: Cgroup = new Cgroup(parts, limits, {
      keep: () => this.keep(key, group),
      removed: () => this.groups.delete(group),
    });
    this.groups.add(group);
    try {
      await group.make();
      return group;
    } catch (error) {
      await group.remove();
      throw error;
    }
  }

  private keep(key: string, group: Cgroup): boolean {
    if (this.spareCount >= MAX_SPARE) return false;
    this.spareCount++;
    const spare = this.spare.get(key);
    if (spare === undefined) this.spare.set(key, [group]);
    else spare.push(group);
    return true;
  }

  /** Kills what is still in it. */
  async close(): Promise<void> {
    this.spareCount = MAX_SPARE;
    await Promise.all([...this.groups].map((group) => group.remove()));
    await Promise.all(this.trees.map(({ folder }) => removeFolder(folder)));
  }
}

/** Long enough for every file that is read as a whole. */
const BUFFER = Buffer.allocUnsafe(8192);
/** No number and no list of processes. */
const UNREADABLE = 'unreadable';

interface CgroupOwner {
  /** Takes the empty group back for another call. Returns false if it is not wanted. */
  keep(): boolean;
  removed(): void;
}

/** The group of one call, in as many hierarchies as its features need. */
export class Cgroup {
  /** The counts and the peak of the calls before, if it was used before. */
  private before = { oomKills: 0, cpuMs: 0, peakBytes: -1 };
  /** Files of the group, by name, which stay open as long as it exists: opening one takes longer than reading it. */
  private readonly descriptors = new Map<string, number>();

  constructor(
    private readonly parts: readonly CgroupTree[],
    private readonly limits: CgroupLimits,
    private readonly home: CgroupOwner,
  ) {}

  /** Another call begins. */
  begin(): void {
    const part = this.partWith('memory');
    // Version 2 cannot reset the peak of a group.
    if (part?.version === 1) writeSync(this.descriptorOf(part, PEAK_FILE[1]), '0', 0);
    this.before = {
      oomKills: this.allOomKills,
      cpuMs: this.allCpuMs ?? 0,
      peakBytes: this.highestBytes ?? -1,
    };
  }

  /** The files through which a process enters. */
  get entrances(): string[] {
    return this.parts.map(({ folder }) => join(folder, PROCS));
  }

  async make(): Promise<void> {
    await Promise.all(this.parts.map((part) => makePart(part, this.limits)));
  }

  /** How often the kernel killed one of its processes for lack of memory. */
  get oomKills(): number {
    return this.allOomKills - this.before.oomKills;
  }

  /**
   * The most memory of its processes together, including the file cache that the kernel counts. Undefined if it is not
   * known, because a call before used more.
   */
  get peakBytes(): number | undefined {
    const bytes = this.highestBytes;
    return bytes !== undefined && bytes > this.before.peakBytes ? bytes : undefined;
  }

  /** The CPU time of its processes, including those that ended. */
  get cpuMs(): number | undefined {
    const all = this.allCpuMs;
    return all === undefined ? undefined : all - this.before.cpuMs;
  }

  private get highestBytes(): number | undefined {
    const part = this.partWith('memory');
    if (part === undefined) return undefined;
    // Older kernels do not have it.
    const bytes = Number.parseInt(this.read(part, PEAK_FILE[part.version]), 10);
    return Number.isNaN(bytes) ? undefined : bytes;
  }

  private get allOomKills(): number {
    const part = this.partWith('memory');
    if (part === undefined) return 0;
    return numberAfter(
      'oom_kill',
      this.read(part, part.version === 1 ? 'memory.oom_control' : 'memory.events'),
    );
  }

  private get allCpuMs(): number | undefined {
    const part = this.partWith('cpu');
    if (part === undefined) return undefined;
    if (part.version === 2) return numberAfter('usage_usec', this.read(part, 'cpu.stat')) / 1000;
    return Number(this.read(part, 'cpuacct.usage')) / 1e6;
  }

  get pids(): number[] {
    return this.parts.length === 0 ? [] : pidsIn(this.parts[0]!.folder);
  }

  /** Whether it may contain more than this many processes; false if it certainly does not. Cheaper than counting. */
  mayExceed(processes: number): boolean {
    const part = this.partWith('pids');
    // Threads count too.
    return part === undefined || !(Number(this.read(part, 'pids.current')) <= processes);
  }

  /** Kills everything in it: a process cannot leave its group by itself. */
  kill(): void {
    for (const { folder } of this.parts) killGroup(folder);
  }

  /** Ends a call: the group is kept for another one if nothing of this one remains, and otherwise removed. */
  async release(): Promise<void> {
    if (!this.isEmpty || !this.home.keep()) await this.remove();
  }

  /** Kills everything in it until it is empty, and removes it. */
  async remove(): Promise<void> {
    this.closeFiles();
    await Promise.all(this.parts.map(({ folder }) => removeFolder(folder)));
    this.home.removed();
  }

  private closeFiles(): void {
    for (const descriptor of this.descriptors.values()) closeSync(descriptor);
    this.descriptors.clear();
  }

  /** Reads a small file of the group. */
  private read(part: CgroupTree, name: string): string {
    try {
      const descriptor = this.descriptorOf(part, name);
      return BUFFER.toString('latin1', 0, readSync(descriptor, BUFFER, 0, BUFFER.length, 0));
    } catch {
      return UNREADABLE;
    }
  }

  private descriptorOf({ folder, version }: CgroupTree, name: string): number {
    let descriptor = this.descriptors.get(name);
    if (descriptor === undefined) {
      descriptor = openSync(join(folder, name), version === 1 && name === PEAK_FILE[1] ? 'r+' : 'r');
      this.descriptors.set(name, descriptor);
    }
    return descriptor;
  }

  /** Whether it contains no process and hardly any memory. */
  private get isEmpty(): boolean {
    if (!this.hasNoProcess) return false;
    const { memoryBytes } = this.limits;
    const part = this.partWith('memory');
    if (part === undefined || memoryBytes === undefined) return true;
    const used = this.read(part, part.version === 1 ? 'memory.usage_in_bytes' : 'memory.current');
    return Number(used) < memoryBytes * SPARE_MEMORY_SHARE;
  }

  /**
   * A process enters all parts before its program starts. Version 1 repeats the list of processes for a second to whoever
   * keeps its file open, so the kernel's count is used, or the file opened again.
   */
  private get hasNoProcess(): boolean {
    const part = this.partWith('pids');
    return part === undefined ? this.pids.length === 0 : Number(this.read(part, 'pids.current')) === 0;
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
      // Busy while one of its processes is dying. The next runner removes what stays longer.
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

function numberAfter(name: string, text: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

/** A mounted cgroup hierarchy. */
export interface CgroupMount {
  readonly version: 1 | 2;
  readonly mountPoint: string;
  /** The folder of this process's group. */
  readonly ownFolder: string;
  /** Version 1: the controllers of this hierarchy. */
  readonly controllers: readonly string[];
}

/** The hierarchies visible to this process. Empty without cgroups, as on other systems. */
export function findCgroupMounts(): CgroupMount[] {
  try {
    return parseCgroupMounts(
      readFileSync('/proc/self/mountinfo', 'utf8'),
      readFileSync('/proc/self/cgroup', 'utf8'),
    );
  } catch {
    return [];
  }
}

/** Parses `/proc/self/mountinfo` and `/proc/self/cgroup`. */
export function parseCgroupMounts(mountinfo: string, membership: string): CgroupMount[] {
  const paths = new Map<string, string>();
  for (const line of membership.split('\n')) {
    const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (names !== undefined) for (const name of names.split(',')) paths.set(name, path!);
  }
  const mounts: CgroupMount[] = [];
  for (const line of mountinfo.split('\n')) {
    const [mount, kind] = line.split(' - ') as [string, string | undefined];
    const [, , , root, mountPoint] = mount.split(' ').map(unescapeSpaces);
    const [type, , options] = kind?.split(' ') ?? [];
    if (mountPoint === undefined || (type !== 'cgroup' && type !== 'cgroup2')) continue;
    const controllers = type === 'cgroup' ? (options ?? '').split(',') : [];
    const path =
      type === 'cgroup2' ? paths.get('') : paths.get(controllers.find((name) => paths.has(name)) ?? '');
    mounts.push({
      version: type === 'cgroup2' ? 2 : 1,
      mountPoint,
      ownFolder: resolve(mountPoint, `.${below(root!, path ?? '/')}`),
      controllers,
    });
  }
  return mounts;
}

/** The folders from this process's group up to the mount, nearest first. */
export function foldersUpwards({ ownFolder, mountPoint }: CgroupMount): string[] {
  const folders = [ownFolder];
  for (let folder = ownFolder; folder.startsWith(`${mountPoint}/`); ) {
    folder = dirname(folder);
    folders.push(folder);
  }
  return folders;
}

/** In a container the mount shows only a part of the hierarchy; anything outside counts as its top. */
function below(root: string, path: string): string {
  if (root === '/') return path;
  if (path === root) return '/';
  return path.startsWith(`${root}/`) ? path.slice(root.length) : '/';
}

function unescapeSpaces(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
