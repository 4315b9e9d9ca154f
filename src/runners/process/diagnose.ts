import { existsSync, readlinkSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { type Cgroup, type CgroupFeature, CgroupHome, type CgroupLimits } from './cgroup.ts';
import { createLauncher } from './helper-launcher.ts';
import type { Launcher, LaunchRequest, ProcessEnd } from './launcher.ts';
import { readProcess } from './process-table.ts';
import { type Bubblewrap, sandboxArguments, USER_FLAGS } from './sandbox.ts';

/** Why each part does not work; undefined if it does. */
interface LauncherTrial {
  readonly startProblem: string | undefined;
  readonly groupProblem: string | undefined;
  readonly limitProblem: string | undefined;
}

const OPEN_FILES = 57;

/** Starts a process and checks its process group and limits. */
async function tryLauncher(launcher: Launcher): Promise<LauncherTrial> {
  let group: number | undefined;
  const trial = await runTrial(
    launcher,
    { argv: ['/bin/sh', '-c', 'ulimit -n'], limits: { openFiles: OPEN_FILES } },
    (pid) => {
      group = readProcess(pid)?.group;
    },
  );
  const startProblem = problemOf(trial);
  const hasGroup = process.platform !== 'linux' || group === undefined || group === trial.pid;
  return {
    startProblem,
    groupProblem: startProblem ?? (hasGroup ? undefined : `a process was found in the group ${group}`),
    limitProblem:
      startProblem ??
      (trial.stdout.trim() === String(OPEN_FILES) ? undefined : 'the limit on open files had no effect'),
  };
}

interface SandboxTrial {
  readonly bubblewrap: Bubblewrap | undefined;
  readonly problem: string | undefined;
  readonly remedy: string | undefined;
}

const INSTALL =
  'Install bubblewrap: `apt-get install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora), `apk add bubblewrap` (Alpine).';
const ALLOW =
  'Allow user namespaces: set the sysctl kernel.unprivileged_userns_clone to 1, or kernel.apparmor_restrict_unprivileged_userns to 0; in a container its seccomp profile must allow them.';

const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin';

/** Reports from inside what the sandbox looks like. */
const LOOK_AROUND = [
  'readlink /proc/self/ns/pid /proc/self/ns/net /proc/self/ns/mnt',
  'while read -r key value; do if [ "$key" = CapEff: ]; then echo "$value"; fi; done < /proc/self/status',
  'if [ -w /proc/sys/kernel/core_pattern ]; then echo writable; else echo protected; fi',
].join('\n');

/** Runs a shell in the sandbox, in the strictest form that works, and inspects it. */
export async function trySandbox(launcher: Launcher): Promise<SandboxTrial> {
  if (process.platform !== 'linux') return failed('bubblewrap exists only on Linux', undefined);
  const program = findProgram('bwrap');
  if (program === undefined) return failed('bubblewrap (bwrap) is not installed', INSTALL);
  let problem = '';
  for (const userFlags of USER_FLAGS) {
    const bubblewrap: Bubblewrap = { program, userFlags };
    const trial = await runTrial(launcher, {
      argv: [
        ...(sandboxArguments(bubblewrap, {
          policy: { read: [], write: [], network: false },
          code: [],
          cwd: '/',
          temporaryBytes: 2 ** 20,
        }) as [string, ...string[]]),
        '/bin/sh',
        '-c',
        LOOK_AROUND,
      ],
      // The shell must find its commands even if this process's PATH lacks the system folders.
      env: { PATH: [SYSTEM_PATH, process.env['PATH'] ?? ''].join(delimiter), LC_ALL: 'C' },
    });
    const found = problemOf(trial) ?? weakness(trial.stdout);
    if (found === undefined) return { bubblewrap, problem: undefined, remedy: undefined };
    problem ||= found;
  }
  return failed(problem, ALLOW);
}

/** What a kept sandbox does not isolate, if anything. */
export async function weaknessInside(
  launcher: Launcher,
  sandbox: number,
  policy: { readonly network: boolean },
): Promise<string | undefined> {
  const trial = await runTrial(launcher, {
    argv: ['/bin/sh', '-c', LOOK_AROUND],
    env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
    sandbox,
  });
  return problemOf(trial) ?? weakness(trial.stdout, policy);
}

/** The absolute path, so that a call with another PATH uses the same one. */
function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '/usr/bin:/bin').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** What the sandbox does not isolate, if anything. */
function weakness(report: string, policy = { network: false }): string | undefined {
  const lines = report.trim().split('\n');
  if (lines.length !== 5) return 'its inside could not be inspected';
  const [pid, net, mnt, capabilities, settings] = lines;
  if (pid === readlinkSync('/proc/self/ns/pid')) return "it shares the host's processes";
  if (!policy.network && net === readlinkSync('/proc/self/ns/net'))
    return 'it shares the network of the host';
  if (mnt === readlinkSync('/proc/self/ns/mnt')) return 'it shares the folders of the host';
  if (!/^0+$/.test(capabilities ?? '')) return `a process in it has capabilities (${capabilities})`;
  return settings === 'protected' ? undefined : "a process in it can change the kernel's settings";
}

function failed(problem: string, remedy: string | undefined): SandboxTrial {
  return { bubblewrap: undefined, problem, remedy };
}

const MEMORY_BYTES = 16 * 2 ** 20;

/** Breaks each limit once and returns those that were not enforced. */
async function tryCgroups(launcher: Launcher, home: CgroupHome): Promise<Map<CgroupFeature, string>> {
  const problems = new Map<CgroupFeature, string>();
  const attempt = async (feature: CgroupFeature, trial: () => Promise<string | undefined>) => {
    if (!home.has(feature)) return;
    const problem = await trial().catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    );
    if (problem !== undefined) problems.set(feature, problem);
  };
  await Promise.all([
    attempt('memory', () =>
      within(home, { memoryBytes: MEMORY_BYTES }, async (group) => {
        const trial = await start(launcher, group, [
          'dd',
          'if=/dev/zero',
          'of=/dev/null',
          'bs=64M',
          'count=1',
        ]);
        return trial.end.startError ?? (group.oomKills > 0 ? undefined : 'the memory limit had no effect');
      }),
    ),
    attempt('pids', () =>
      within(home, { tasks: 1 }, async (group) => {
        const trial = await start(launcher, group, ['/bin/sh', '-c', '(exit 0); exit 0']);
        return (
          trial.end.startError ??
          (problemOf(trial) === undefined ? 'the process limit had no effect' : undefined)
        );
      }),
    ),
    attempt('cpu', () =>
      within(home, {}, async (group) => {
        const trial = await start(launcher, group, ['/bin/sh', '-c', 'exit 0']);
        return problemOf(trial) ?? ((group.cpuMs ?? 0) > 0 ? undefined : 'CPU time is not counted');
      }),
    ),
  ]);
  return problems;
}

function start(launcher: Launcher, group: Cgroup, argv: readonly [string, ...string[]]): Promise<Trial> {
  return runTrial(launcher, { argv, cgroups: group.entrances });
}

async function within<T>(
  home: CgroupHome,
  limits: CgroupLimits,
  use: (group: Cgroup) => Promise<T>,
): Promise<T> {
  const group = await home.create(limits);
  try {
    return await use(group);
  } finally {
    await group.remove();
  }
}

/** The result of a small probe program. */
interface Trial {
  readonly pid: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly end: ProcessEnd;
}

const LIMIT_MS = 10_000;
const MAX_TEXT = 10_000;

function runTrial(
  launcher: Launcher,
  request: Partial<LaunchRequest> & Pick<LaunchRequest, 'argv'>,
  whileRunning?: (pid: number) => void,
): Promise<Trial> {
  return new Promise((resolve) => {
    const texts = { stdout: '', stderr: '', channel: '' };
    let pid: number | undefined;
    const launched = launcher.launch(
      {
        cwd: '/',
        env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
        limits: {},
        cgroups: [],
        input: false,
        channel: false,
        ...request,
      },
      {
        started: (started) => {
          pid = started;
          whileRunning?.(started);
        },
        data: (stream, chunk) => {
          texts[stream] = (texts[stream] + chunk.toString()).slice(0, MAX_TEXT);
        },
        ended: (end) => {
          clearTimeout(timer);
          resolve({ pid, stdout: texts.stdout, stderr: texts.stderr.trim(), end });
        },
      },
    );
    const timer = setTimeout(() => launched.kill('SIGKILL'), LIMIT_MS);
  });
}

/** Why a probe failed. */
function problemOf({ end, stderr }: Trial): string | undefined {
  if (end.startError !== undefined) return end.startError;
  if (end.exitCode === 0) return undefined;
  return stderr.split('\n')[0] || `it ended with ${end.signal ?? `exit status ${end.exitCode}`}`;
}

/** A layer of isolation. */
export type LayerName =
  | 'launcher'
  | 'process-group'
  | 'rlimits'
  | 'namespaces'
  | 'network'
  | 'cgroup-memory'
  | 'cgroup-pids'
  | 'cgroup-cpu'
  | 'memory-watch';

/** The state of one layer on this system. */
export interface Layer {
  readonly name: LayerName;
  /** Whether it works here; tested, not guessed. */
  readonly active: boolean;
  /** What it does, or why it does not work. */
  readonly detail: string;
  /** What to install or change, if that would help. */
  readonly remedy?: string;
}

/** The active layers of isolation on this system, and why. */
export interface Diagnosis {
  readonly layers: readonly Layer[];
}

/** What a runner can use. */
export interface Support {
  readonly bubblewrap: Bubblewrap | undefined;
  readonly cgroups: CgroupHome | undefined;
  readonly diagnosis: Diagnosis;
}

const FEATURES: readonly CgroupFeature[] = ['memory', 'pids', 'cpu'];

/** Tests every layer with real processes; takes some tens of milliseconds. */
export async function findSupport(launcher: Launcher): Promise<Support> {
  const home = await CgroupHome.open();
  const [launching, sandbox, problems] = await Promise.all([
    tryLauncher(launcher),
    trySandbox(launcher),
    tryCgroups(launcher, home),
  ]);
  for (const [feature, problem] of problems) home.giveUp(feature, problem);
  const isUsable = FEATURES.some((feature) => home.has(feature));
  if (!isUsable) await home.close();
  return {
    bubblewrap: sandbox.bubblewrap,
    cgroups: isUsable ? home : undefined,
    diagnosis: { layers: layersOf(launcher, launching, sandbox, home) },
  };
}

function layersOf(
  launcher: Launcher,
  launching: LauncherTrial,
  sandbox: SandboxTrial,
  home: CgroupHome,
): Layer[] {
  return [
    launcherLayer(launcher, launching),
    layer(
      'process-group',
      launching.groupProblem,
      'each process leads its own process group, which is killed as a whole',
    ),
    layer('rlimits', launching.limitProblem, 'the kernel limits CPU time and open files of each process'),
    layer(
      'namespaces',
      sandbox.problem,
      `${sandbox.bubblewrap?.program} shows a process only its own folders and its own processes, and drops all capabilities${sandbox.bubblewrap?.userFlags.includes('--disable-userns') ? ' and blocks further user namespaces' : ''}`,
      sandbox.remedy,
    ),
    layer(
      'network',
      sandbox.problem,
      'a process without network access has only its own loopback interface',
      sandbox.remedy,
    ),
    cgroupLayer(home, 'memory', 'the kernel kills a call whose processes together exceed their memory limit'),
    cgroupLayer(home, 'pids', 'the kernel limits the number of processes of a call and can kill all of them'),
    cgroupLayer(home, 'cpu', 'the kernel measures the CPU time of all processes of a call'),
    watchLayer(home),
  ];
}

function launcherLayer(launcher: Launcher, { startProblem }: LauncherTrial): Layer {
  if (startProblem !== undefined) return { name: 'launcher', active: false, detail: startProblem };
  const { helperPid } = launcher as { helperPid?: number | undefined };
  if (helperPid !== undefined) {
    return { name: 'launcher', active: true, detail: `a helper process (${helperPid}) starts processes` };
  }
  return {
    name: 'launcher',
    active: false,
    detail: 'Node starts processes itself, which blocks its event loop in proportion to its memory',
    remedy: 'Install perl (Debian: perl-base).',
  };
}

function cgroupLayer(home: CgroupHome, feature: CgroupFeature, detail: string): Layer {
  const remedy =
    'Run as root where cgroups are writable, or in a cgroup that is delegated to you (systemd: Delegate=yes) with these controllers.';
  return layer(`cgroup-${feature}`, home.problems.get(feature), detail, remedy);
}

function watchLayer(home: CgroupHome): Layer {
  const name = 'memory-watch';
  if (process.platform !== 'linux')
    return { name, active: false, detail: 'only Linux reports the usage of processes' };
  const missing = FEATURES.filter((feature) => !home.has(feature));
  return missing.length === 0
    ? { name, active: false, detail: 'not needed: cgroups enforce every limit' }
    : {
        name,
        active: true,
        detail: `the process table is polled every 20 ms for what cgroups do not limit: ${missing.join(', ')}`,
      };
}

function layer(name: LayerName, problem: string | undefined, detail: string, remedy?: string): Layer {
  if (problem === undefined) return { name, active: true, detail };
  return { name, active: false, detail: problem, ...(remedy !== undefined && { remedy }) };
}

/**
 * Tests each layer of process isolation, and reports which are active on this system, why the others are not, and what
 * to do about it.
 */
export async function diagnose(): Promise<Diagnosis> {
  const launcher = createLauncher();
  try {
    const { cgroups, diagnosis } = await findSupport(launcher);
    await cgroups?.close();
    return diagnosis;
  } finally {
    await launcher.close();
  }
}
