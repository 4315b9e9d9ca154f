import type { Command as Program } from 'commander';
import type { ExitStatus, Io } from './io.ts';

/** Options that every command has. */
export interface CommonOptions {
  /** Answers as JSON, for programs. */
  readonly json?: boolean;
  /** A certain `volley.toml` instead of the nearest. */
  readonly config?: string;
}

/** One word of the command line, in a file of its own. */
export interface CliCommand<O extends CommonOptions = CommonOptions> {
  /** Whole command lines, for the help. */
  readonly examples: readonly string[];
  /** Declares arguments and options. */
  declare(program: Program): void;
  run(args: readonly string[], options: O, io: Io): Promise<ExitStatus>;
}

/** Ties the options to the command. */
export function defineCommand<O extends CommonOptions>(command: CliCommand<O>): CliCommand {
  return command as unknown as CliCommand;
}
