import type { Cgroup, CgroupHome, CgroupLimits } from './cgroup.ts';
import type { CgroupFeature } from './cgroup-tree.ts';
import type { Launcher } from './launcher.ts';
import { problemOf, runTrial, type Trial } from './trial.ts';

const MEMORY_BYTES = 16 * 2 ** 20;

/** Breaks each limit once, and tells which of them were not kept. */
export async function tryCgroups(launcher: Launcher, home: CgroupHome): Promise<Map<CgroupFeature, string>> {
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
        return (
          trial.end.startError ??
          (group.oomKills > 0 ? undefined : 'a limit on memory that was set had no effect')
        );
      }),
    ),
    attempt('pids', () =>
      within(home, { tasks: 1 }, async (group) => {
        const trial = await start(launcher, group, ['/bin/sh', '-c', '(exit 0); exit 0']);
        return (
          trial.end.startError ??
          (problemOf(trial) === undefined ? 'a limit on processes that was set had no effect' : undefined)
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
