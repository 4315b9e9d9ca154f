import type { VolleyConfig } from '../config/config.ts';
import { PathGuard } from '../config/path-guard.ts';
import { ProtectedPaths } from '../config/protected-paths.ts';
import { VolleyError } from '../core/errors.ts';
import type { Labels } from '../core/labels.ts';
import { InlineRunner } from '../runners/inline.ts';
import type { Confinement } from '../runners/process/confinement.ts';
import { createLauncher } from '../runners/process/helper-launcher.ts';
import type { Launcher } from '../runners/process/launcher.ts';
import { ProcessRunner } from '../runners/process/process-runner.ts';
import type { Runner } from '../runners/runner.ts';
import { ThreadRunner } from '../runners/thread/thread-runner.ts';
import type { ToolEnvironment } from '../tools/builtin/environment.ts';
import type { Isolation, Tool } from '../tools/tool.ts';
import type { RemoteRunner } from './remote-runner.ts';

/** The runners of a coordinator, each made when the first call needs it. */
export class RunnerSet {
  private readonly made = new Map<Isolation, Runner>();
  private sharedLauncher: Launcher | undefined;
  private isClosed = false;
  /** Runs calls on other machines, if there are any. */
  remote: RemoteRunner | undefined = undefined;
  /** Tools that run in this process on behalf of a worker, and where: undefined for one that stays here as a whole. */
  readonly hosted = new WeakMap<Tool, (input: unknown) => Labels | undefined>();

  /** What tools may not write, and what they may not read. */
  readonly protection: ProtectedPaths;
  /** Keeps the same from processes. */
  readonly guard: PathGuard;

  constructor(private readonly config: VolleyConfig) {
    this.protection = new ProtectedPaths(config);
    this.guard = new PathGuard(this.protection);
  }

  get(isolation: Isolation): Runner {
    this.assertOpen();
    let runner = this.made.get(isolation);
    if (runner === undefined) {
      runner = this.make(isolation);
      this.made.set(isolation, runner);
    }
    return runner;
  }

  /** What starts processes, for the process runner and the shell alike. */
  get launcher(): Launcher {
    this.assertOpen();
    this.sharedLauncher ??= createLauncher();
    return this.sharedLauncher;
  }

  /** What keeps processes in, for both of them as well. */
  get confinement(): Confinement {
    return (this.get('process') as ProcessRunner).confinement;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.made.values()].map((runner) => runner.close()));
    await this.sharedLauncher?.close();
  }

  private make(isolation: Isolation): Runner {
    switch (isolation) {
      case 'inline':
        return new InlineRunner();
      case 'thread':
        return new ThreadRunner({ maxThreads: this.config.threads.max });
      case 'process':
        return new ProcessRunner({ launcher: this.launcher });
    }
  }

  private assertOpen(): void {
    if (this.isClosed)
      throw new VolleyError('RUNNER_CLOSED', 'The coordinator was closed: create a new one.');
  }
}

/** What the built-in tools may touch, by the word of the configuration. */
export function environmentOf(
  config: VolleyConfig,
  runners: Pick<RunnerSet, 'launcher' | 'confinement' | 'guard' | 'protection'>,
): ToolEnvironment {
  const { tools, files, http, processes } = config;
  const { network, ...shell } = config.shell;
  return {
    roots: tools.roots,
    protection: runners.protection,
    files,
    http,
    shell: {
      ...shell,
      limits: processes.limits,
      sandbox: {
        mode: processes.sandbox,
        read: tools.roots,
        write: tools.roots,
        network,
        guard: runners.guard,
      },
      launcher: () => runners.launcher,
      confinement: () => runners.confinement,
    },
  };
}
