import { dirname, resolve } from 'node:path';
import type { VolleyConfig } from '../../config/config.ts';
import { environmentOf } from '../../coordinator/environment.ts';
import { RunnerSet } from '../../coordinator/runner-set.ts';
import type { CommandOptions, CommandResult } from '../../runners/process/command.ts';
import { commandEnvironment, runShellCommand } from '../../tools/builtin/shell.ts';
import { gitFoldersOf } from '../workspace/git-folders.ts';

/** Node and npm, which may be installed in the user's home: most checks need them. */
const NODE = [dirname(process.execPath), resolve(process.execPath, '../../lib/node_modules')];

/** Where a verification command runs. */
export interface CommandPlace {
  /** The project, or a worktree of it. */
  readonly folder: string;
  /** What it may also read: the project that a worktree belongs to. */
  readonly project: string;
}

/**
 * Runs verification commands the way the `shell` tool runs its own: in the same sandbox, with the same environment and
 * limits. Processes are started with the first command.
 */
export class CommandRunner {
  private readonly runners: RunnerSet;

  constructor(private readonly config: VolleyConfig) {
    this.runners = new RunnerSet(config);
  }

  run(
    command: string,
    { folder, project }: CommandPlace,
    options: Pick<CommandOptions, 'signal' | 'onOutput'>,
  ): Promise<CommandResult> {
    const { shell } = environmentOf(this.config, this.runners);
    const { own, common } = gitFoldersOf(folder) ?? {};
    const git = [own, common].filter((path) => path !== undefined);
    const read = [...shell.sandbox.read, project, ...git, ...NODE];
    const settings = { ...shell, sandbox: { ...shell.sandbox, read, write: [folder] } };
    const env = { ...commandEnvironment(shell.env), PWD: folder };
    return runShellCommand(settings, command, { ...options, cwd: folder, env, limits: shell.limits });
  }

  close(): Promise<void> {
    return this.runners.close();
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
