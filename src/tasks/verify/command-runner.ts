import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { VolleyConfig } from '../../config/config.ts';
import { gitFoldersOf } from '../../config/git-folders.ts';
import { PathGuard } from '../../config/path-guard.ts';
import { ProtectedPaths } from '../../config/protected-paths.ts';
import { environmentOf } from '../../coordinator/environment.ts';
import { RunnerSet } from '../../coordinator/runner-set.ts';
import type { CommandOptions, CommandResult } from '../../runners/process/command.ts';
import type { SandboxPolicy } from '../../runners/runner.ts';
import { isInside } from '../../tools/builtin/roots.ts';
import { commandEnvironment, runShellCommand } from '../../tools/builtin/shell.ts';

/** Where a verification command runs. */
export interface CommandPlace {
  /** The project, or a worktree of it. */
  readonly folder: string;
  readonly project: string;
}

/**
 * Runs verification commands the way the `shell` tool runs its own: in the same sandbox, with the same environment and
 * limits, and with the same paths protected but `node_modules`. A worktree is all that a command in it can write.
 */
export class CommandRunner {
  private readonly runners: RunnerSet;
  private readonly guards = new Map<string, PathGuard>();

  constructor(private readonly config: VolleyConfig) {
    this.runners = new RunnerSet(config);
  }

  run(
    command: string,
    place: CommandPlace,
    options: Pick<CommandOptions, 'signal' | 'onOutput'>,
  ): Promise<CommandResult> {
    const { folder } = place;
    const { shell } = environmentOf(this.config, this.runners);
    const settings = { ...shell, sandbox: this.policyFor(place, shell.sandbox) };
    const env = { ...commandEnvironment(shell.env), PWD: folder };
    return runShellCommand(settings, command, { ...options, cwd: folder, env, limits: shell.limits });
  }

  close(): Promise<void> {
    return this.runners.close();
  }

  private policyFor({ folder, project }: CommandPlace, { mode, network }: SandboxPolicy): SandboxPolicy {
    const { own, common } = gitFoldersOf(folder) ?? {};
    const git = [own, common].filter((path) => path !== undefined);
    // A set-up may have linked to something of the project.
    const visible = folder === project ? [] : entriesBesideVolley(project);
    const roots = this.rootsBeside(project);
    return {
      ...{ mode, network },
      read: [...roots, ...visible, ...git],
      write: [folder],
      guard: this.guardFor(folder, folder === project ? this.config.folder : folder, roots),
    };
  }

  private rootsBeside(project: string): string[] {
    return this.config.tools.roots.filter((root) => !isInside(root, project) && !isInside(project, root));
  }

  private guardFor(folder: string, scope: string, roots: readonly string[]): PathGuard {
    let guard = this.guards.get(folder);
    if (guard === undefined) {
      const { store, tools, trust } = this.config;
      const writable = [...tools.writable, '**/node_modules'];
      const paths = { folder: scope, store, trust, tools: { ...tools, roots: [folder, ...roots], writable } };
      guard = new PathGuard(new ProtectedPaths(paths));
      this.guards.set(folder, guard);
    }
    return guard;
  }
}

/** Lets work use a runner, and ends it afterwards. */
export async function withCommandRunner<T>(
  config: VolleyConfig,
  work: (commands: CommandRunner) => Promise<T>,
): Promise<T> {
  const commands = new CommandRunner(config);
  try {
    return await work(commands);
  } finally {
    await commands.close();
  }
}

/** The folder of Volley itself is hidden, though worktrees are in it. */
function entriesBesideVolley(project: string): string[] {
  return readdirSync(project)
    .filter((name) => name.toLowerCase() !== '.volley')
    .map((name) => join(project, name));
}
