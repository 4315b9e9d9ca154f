import type { Launcher } from './launcher.ts';
import { readProcess } from './process-table.ts';
import { problemOf, runTrial } from './trial.ts';

/** Why each part does not work; undefined if it does. */
export interface LauncherTrial {
  readonly startProblem: string | undefined;
  readonly groupProblem: string | undefined;
  readonly limitProblem: string | undefined;
}

const OPEN_FILES = 57;

/** Starts a process and looks whether it has its own group and its limits. */
export async function tryLauncher(launcher: Launcher): Promise<LauncherTrial> {
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
      (trial.stdout.trim() === String(OPEN_FILES)
        ? undefined
        : 'a limit on open files that was set had no effect'),
  };
}
