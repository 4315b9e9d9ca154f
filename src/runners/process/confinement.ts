import { lstat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import type { GuardedRun, RunLimits, SandboxPolicy } from '../runner.ts';
import { type Cgroup, isAlive, pidNamespace } from './cgroup.ts';
import { type ConfinedListener, ConfinedProcess } from './confined-process.ts';
import { type Diagnosis, findSupport, type LayerName, type Support } from './diagnose.ts';
import type { Launcher, LaunchRequest } from './launcher.ts';
import { UsageWatch } from './memory-watch.ts';
import { PRIVATE_TMP, sandboxArguments } from './sandbox.ts';
import { SharedSandboxes } from './shared-sandboxes.ts';

const NAME = /^volley-(\d+)-(\d+)-[A-Za-z0-9]{6}$/;

let sweeping: Promise<void> | undefined;

/** Creates a folder for one call. The first time, removes folders left by killed processes. */
export async function makeTemporaryFolder(): Promise<string> {
  sweeping ??= removeStaleTemporaryFolders();
  await sweeping;
  return mkdtemp(join(tmpdir(), `volley-${pidNamespace()}-${process.pid}-`));
}

async function removeTemporaryFolder(folder: string): Promise<void> {
  // A folder that a tool made unreadable stays; that is no reason to fail its call.
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
}

/** Removes the folders of processes that no longer exist. */
export async function removeStaleTemporaryFolders(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const [, namespace, pid] = NAME.exec(name) ?? [];
    // Process ids of another namespace are meaningless here.
    if (namespace !== pidNamespace() || isAlive(Number(pid))) continue;
    const folder = join(tmpdir(), name);
    const stats = await lstat(folder).catch(() => undefined);
    // Anybody can create something with that name.
    if (stats?.isDirectory() && stats.uid === process.getuid?.()) await removeTemporaryFolder(folder);
  }
}

/** A program to run with limits and in a sandbox. */
interface ConfinedRequest extends Partial<Pick<LaunchRequest, 'words'>> {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: RunLimits;
  readonly sandbox: SandboxPolicy;
  /**
   * The values of `HOME` and `TMPDIR`: `private` is a new folder each time, unless `env` sets another; `user` keeps the
   * values of `env`, except in a sandbox, which cannot see them.
   */
  readonly home: 'private' | 'user';
  readonly input: boolean;
  /** The use of descriptor 3: messages of the program, or status reports of the sandbox. */
  readonly channel: 'program' | 'sandbox';
  /** What the program must be able to read in order to start, besides system folders. */
  readonly code: readonly string[];
}

/**
 * In a cgroup a thread counts as a process, and Node has about a dozen: the kernel's limit is high enough for each
 * process to be a Node process.
 */
const TASKS_PER_PROCESS = 16;
const DEFAULT_TEMPORARY_MB = 1024;
const CHANNEL = 3;
/** How the launcher's message begins if a process could not enter a kept sandbox. */
const NOT_ENTERED = 'sandbox: ';
/** What `required` means. Limits on all processes together are enforced by cgroups or by polling. */
const REQUIRED: readonly (readonly LayerName[])[] = [
  ['namespaces'],
  ['network'],
  ['process-group'],
  ['rlimits'],
  ['cgroup-memory', 'memory-watch'],
  ['cgroup-pids', 'memory-watch'],
  ['cgroup-cpu', 'memory-watch'],
];

/** Runs programs so that nothing of them remains, as far as this system supports it. */
export class Confinement {
  private readonly watch = new UsageWatch();
  private finding: Promise<Support> | undefined;
  private accounts: Promise<string> | undefined;

  private readonly shared: SharedSandboxes;

  constructor(private readonly launcher: Launcher) {
    this.shared = new SharedSandboxes(launcher);
  }

  /** What this system supports; probed once. */
  support(): Promise<Support> {
    this.finding ??= findSupport(this.launcher);
    return this.finding;
  }

  async diagnose(): Promise<Diagnosis> {
    return (await this.support()).diagnosis;
  }

  async start(request: ConfinedRequest, listener: ConfinedListener): Promise<ConfinedProcess> {
    const support = await this.support();
    const { sandbox, limits } = request;
    if (sandbox.mode === 'required') assertAvailable(support.diagnosis);
    const bubblewrap = sandbox.mode === 'off' ? undefined : support.bubblewrap;
    let folder: string | undefined;
    let cgroup: Cgroup | undefined;
    let guarded: GuardedRun | undefined;
    let accounts: string | undefined;
    let argv = request.argv;
    let shared: number | undefined;
    try {
      if (bubblewrap !== undefined) {
        this.accounts ??= makeAccounts();
        accounts = await this.accounts;
      }
      // The user disabled everything.
      if (sandbox.mode !== 'off') guarded = await sandbox.guard?.begin(bubblewrap !== undefined);
      // The sandbox has its own temporary folder, which vanishes with it.
      if (bubblewrap === undefined && request.home === 'private') folder = await makeTemporaryFolder();
      cgroup = await support.cgroups?.create(cgroupLimits(limits));
      if (bubblewrap !== undefined) {
        const visible = {
          policy: sandbox,
          covers: guarded?.covers ?? [],
          accounts,
          code: request.code,
          cwd: request.cwd,
          temporaryBytes: (limits.memoryMb ?? DEFAULT_TEMPORARY_MB) * 2 ** 20,
          statusDescriptor: request.channel === 'sandbox' ? CHANNEL : undefined,
        };
        shared = await this.shared.find(bubblewrap, visible);
        if (shared === undefined)
          argv = [...sandboxArguments(bubblewrap, visible), ...argv] as unknown as typeof argv;
      }
    } catch (cause) {
      await removeFolder(folder);
      await cgroup?.remove();
      await guarded?.end();
      if (cause instanceof VolleyError && cause.code === 'PATH_PROTECTED') throw cause;
      throw notStarted(request.argv[0], cause);
    }
    const place = folder ?? (bubblewrap && PRIVATE_TMP);
    const home = place === undefined ? {} : { HOME: place, TMPDIR: place };
    const process = new ConfinedProcess({
      launcher: this.launcher,
      watch: this.watch,
      cgroup,
      keeps: (feature) => support.cgroups?.has(feature) === true,
      limits,
      isSandboxed: bubblewrap !== undefined,
      isEntered: shared !== undefined,
      request: {
        argv,
        cwd: bubblewrap === undefined || shared !== undefined ? request.cwd : '/',
        ...(shared !== undefined && { sandbox: shared, words: request.words }),
        env: request.home === 'user' ? { ...request.env, ...home } : { ...home, ...request.env },
        limits: {
          ...(limits.cpuMs !== undefined && { cpuSeconds: Math.ceil(limits.cpuMs / 1000) }),
          ...(limits.openFiles !== undefined && { openFiles: limits.openFiles }),
          ...(limits.diskMb !== undefined && { fileBytes: Math.ceil(limits.diskMb * 2 ** 20) }),
        },
        cgroups: cgroup?.entrances ?? [],
        input: request.input,
        channel: request.channel === 'program' || (bubblewrap !== undefined && shared === undefined),
      },
      listener,
      cleanUp: async () => {
        await removeFolder(folder);
        const breaches = (await guarded?.end()) ?? [];
        // A program that could not write cannot have created anything.
        return bubblewrap !== undefined && sandbox.write.length === 0 ? [] : breaches;
      },
    });
    if (shared !== undefined)
      void process.ended.then(({ startError }) => {
        if (startError?.startsWith(NOT_ENTERED)) this.shared.discard(shared);
      });
    return process;
  }

  /** Call it when nothing runs any more. */
  async close(): Promise<void> {
    this.shared.close();
    const support = await this.finding;
    await support?.cgroups?.close();
    await removeFolder(await this.accounts?.catch(() => undefined));
  }
}

function ownAccount(): { readonly username: string; readonly uid: number; readonly gid: number } {
  try {
    return userInfo();
  } catch {
    // In a container, a user may have a uid but no name.
    return { username: 'user', uid: process.getuid!(), gid: process.getgid!() };
  }
}

/** The `/etc` files that name users and hosts, with only the current user. */
async function makeAccounts(): Promise<string> {
  const folder = await makeTemporaryFolder();
  const { username, uid, gid } = ownAccount();
  const users = new Map([
    [0, `root:x:0:0:root:${PRIVATE_TMP}:/bin/sh`],
    [65534, 'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin'],
  ]);
  if (!users.has(uid)) users.set(uid, `${username}:x:${uid}:${gid}::${PRIVATE_TMP}:/bin/sh`);
  const groups = new Map([
    [0, 'root:x:0:'],
    [65534, 'nogroup:x:65534:'],
  ]);
  if (!groups.has(gid)) groups.set(gid, `${username}:x:${gid}:`);
  const lines = (map: ReadonlyMap<number, string>) => `${[...map.values()].join('\n')}\n`;
  await writeFile(join(folder, 'passwd'), lines(users));
  await writeFile(join(folder, 'group'), lines(groups));
  await writeFile(join(folder, 'hosts'), '127.0.0.1 localhost\n::1 localhost\n');
  return folder;
}

function cgroupLimits({ memoryMb, processes }: RunLimits) {
  return {
    ...(memoryMb !== undefined && { memoryBytes: Math.floor(memoryMb * 2 ** 20) }),
    ...(processes !== undefined && { tasks: (processes + 1) * TASKS_PER_PROCESS }),
  };
}

async function removeFolder(folder: string | undefined): Promise<void> {
  if (folder !== undefined) await removeTemporaryFolder(folder);
}

/** Throws if `required` is set and a layer is missing. */
export function assertAvailable({ layers }: Diagnosis): void {
  for (const names of REQUIRED) {
    const found = layers.filter(({ name }) => names.includes(name));
    if (found.some(({ active }) => active)) continue;
    const { name, detail, remedy } = found[0]!;
    throw new VolleyError(
      'SANDBOX_UNAVAILABLE',
      `The sandbox is required, but its layer ${name} does not work here: ${detail}. ${remedy ?? ''}`.trim(),
      { layer: name },
    );
  }
}

function notStarted(program: string, cause: unknown): VolleyError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new VolleyError(
    'PROCESS_NOT_STARTED',
    `A process for ${program} could not be started: ${why}`,
    {},
    { cause },
  );
}
