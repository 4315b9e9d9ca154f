import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { VolleyConfig } from '../../config/config.ts';
import { gitFoldersOf } from '../../config/git-folders.ts';
import { PathGuard } from '../../config/path-guard.ts';
import { ProtectedPaths } from '../../config/protected-paths.ts';
import { environmentOf, RunnerSet } from '../../coordinator/runner-set.ts';
import { outputEnd } from '../../core/printable-text.ts';
import type { CommandOptions, CommandResult } from '../../runners/process/command.ts';
import type { SandboxPolicy } from '../../runners/runner.ts';
import { isInside } from '../../tools/builtin/roots.ts';
import { commandEnvironment, runShellCommand } from '../../tools/builtin/shell.ts';

/** Where a check runs. */
export interface CheckLocation {
  /** The project, or a worktree of it. */
  readonly folder: string;
  readonly project: string;
}

/**
 * Runs verification commands like the `shell` tool: with the same sandbox, environment, limits and protected paths,
 * except that `node_modules` is writable. A command in a worktree can write only there.
 */
export class CommandRunner {
  private readonly runners: RunnerSet;
  private readonly guards = new Map<string, PathGuard>();

  constructor(private readonly config: VolleyConfig) {
    this.runners = new RunnerSet(config);
  }

  run(
    command: string,
    place: CheckLocation,
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

  private policyFor({ folder, project }: CheckLocation, { mode, network }: SandboxPolicy): SandboxPolicy {
    const { own, common } = gitFoldersOf(folder) ?? {};
    const git = [own, common].filter((path) => path !== undefined);
    // The worktree's setup may have linked to files of the project.
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

/** Volley's own folder stays hidden, although worktrees are inside it. */
function entriesBesideVolley(project: string): string[] {
  return readdirSync(project)
    .filter((name) => name.toLowerCase() !== '.volley')
    .map((name) => join(project, name));
}

/** The ends of both streams: programs report failures on either. */
export function outputEnds(
  { stdout, stderr }: Pick<CommandResult, 'stdout' | 'stderr'>,
  length: number,
): string {
  return [stdout, stderr]
    .map((text) => outputEnd(text, length))
    .filter((end) => end !== '')
    .join('\n');
}
