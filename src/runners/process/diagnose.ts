import { CgroupHome } from './cgroup.ts';
import type { CgroupFeature } from './cgroup-tree.ts';
import type { Launcher } from './launcher.ts';
import type { Bubblewrap } from './sandbox.ts';
import { tryCgroups } from './trial-cgroups.ts';
import { type LauncherTrial, tryLauncher } from './trial-launcher.ts';
import { type SandboxTrial, trySandbox } from './trial-sandbox.ts';

/** A part of what keeps a process from doing harm. */
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

/** One layer on this system. */
export interface Layer {
  readonly name: LayerName;
  /** Whether it works here: it was tried, not guessed. */
  readonly active: boolean;
  /** What it does, or why it does not work. */
  readonly detail: string;
  /** What to install or to change, where that would help. */
  readonly remedy?: string;
}

/** Which layers of isolation are active on this system, and why. */
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

/** Tries every layer with real processes; it takes some tens of milliseconds. */
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
      'each process leads a group of its own, which is killed as a whole',
    ),
    layer('rlimits', launching.limitProblem, 'the kernel limits CPU time and open files of each process'),
    layer(
      'namespaces',
      sandbox.problem,
      `${sandbox.bubblewrap?.program} shows a process only its own folders and its own processes, and takes all capabilities${sandbox.bubblewrap?.userFlags.includes('--disable-userns') ? ' and further user namespaces' : ''}`,
      sandbox.remedy,
    ),
    layer(
      'network',
      sandbox.problem,
      'a process without leave has only a loopback interface of its own',
      sandbox.remedy,
    ),
    cgroupLayer(
      home,
      'memory',
      'the kernel ends a call whose processes together need more memory than allowed',
    ),
    cgroupLayer(
      home,
      'pids',
      'the kernel limits how many processes a call starts, and finds all of them to kill',
    ),
    cgroupLayer(home, 'cpu', 'the CPU time of all processes of a call is added up'),
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
    detail: 'Node starts processes itself, which holds up its event loop the longer the more memory it has',
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
    return { name, active: false, detail: 'only Linux shows what processes use' };
  const missing = FEATURES.filter((feature) => !home.has(feature));
  return missing.length === 0
    ? { name, active: false, detail: 'not needed: cgroups keep every limit' }
    : {
        name,
        active: true,
        detail: `the process table is looked at every 20 ms for what cgroups do not limit: ${missing.join(', ')}`,
      };
}

function layer(name: LayerName, problem: string | undefined, detail: string, remedy?: string): Layer {
  if (problem === undefined) return { name, active: true, detail };
  return { name, active: false, detail: problem, ...(remedy !== undefined && { remedy }) };
}
