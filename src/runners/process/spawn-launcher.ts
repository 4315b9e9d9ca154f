import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { VolleyError } from '../../core/errors.ts';
import { Guard } from './guard.ts';
import { inheritedDescriptors } from './inherited-descriptors.ts';
import {
  KEPT_VARIABLES,
  type LaunchedProcess,
  type Launcher,
  type LaunchListener,
  type LaunchRequest,
} from './launcher.ts';
import { requestProblem, startProblem, withShellLimits } from './shell-limits.ts';
import { SpawnLaunch } from './spawn-launch.ts';

type Stdio = Extract<NonNullable<SpawnOptions['stdio']>, unknown[]>;

/**
 * Launches with Node's own `spawn`, which holds the event loop for as long as the memory of this process is large, and
 * a shell that sets the limits. For systems without perl.
 */
export class SpawnLauncher implements Launcher {
  private readonly guard = new Guard();
  private readonly launches = new Set<SpawnLaunch>();
  private isClosed = false;
  private allEnded: (() => void) | undefined;

  prepare(): void {
    this.guard.start();
  }

  launch(request: LaunchRequest, listener: LaunchListener): LaunchedProcess {
    if (this.isClosed) throw new VolleyError('RUNNER_CLOSED', 'The launcher was closed; create a new one.');
    this.guard.start();
    const launch = new SpawnLaunch(listener, (pid) => this.forget(launch, pid));
    this.launches.add(launch);
    const problem = requestProblem(request) ?? startProblem(request);
    if (problem !== undefined) launch.refuse(problem);
    else this.start(launch, request);
    return launch;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    if (this.launches.size > 0) {
      const ended = new Promise<void>((resolve) => {
        this.allEnded = resolve;
      });
      for (const launch of this.launches) launch.kill('SIGKILL');
      await ended;
    }
    await this.guard.stop();
  }

  private start(launch: SpawnLaunch, request: LaunchRequest): void {
    try {
      launch.follow(this.spawn(request), (pid) => this.guard.add(pid));
    } catch (error) {
      // Such as a list of arguments that is too long.
      launch.refuse((error as Error).message);
    }
  }

  private spawn(request: LaunchRequest): ChildProcess {
    const { argv, cwd, env, input, channel } = withShellLimits(request);
    const stdio: Stdio = [input ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(channel ? ['pipe' as const] : [])];
    const nothing = coverInherited(stdio);
    try {
      return spawn(argv[0], argv.slice(1), { cwd, env: passedOn(env), detached: true, stdio });
    } finally {
      if (nothing !== undefined) closeSync(nothing);
    }
  }

  private forget(launch: SpawnLaunch, pid: number | undefined): void {
    if (pid !== undefined) this.guard.remove(pid);
    this.launches.delete(launch);
    if (this.launches.size === 0) this.allEnded?.();
  }
}

function passedOn(env: LaunchRequest['env']): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !KEPT_VARIABLES.has(name)));
}

/**
 * Puts an empty file in the place of each descriptor that the program would inherit: one of a folder of the host would
 * lead out of every sandbox. Neither Node nor every shell can close them. Gives the file, to be closed afterwards.
 */
function coverInherited(stdio: Stdio): number | undefined {
  const covered = inheritedDescriptors().filter((descriptor) => descriptor >= stdio.length);
  if (covered.length === 0) return undefined;
  const nothing = openSync('/dev/null', 'r');
  while (stdio.length <= Math.max(...covered)) stdio.push('ignore');
  for (const descriptor of covered) stdio[descriptor] = nothing;
  return nothing;
}
