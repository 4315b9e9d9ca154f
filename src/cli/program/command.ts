import type { Command as Program } from 'commander';
import type { ExitStatus, Io } from '../output/io.ts';

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: boolean;
  /** A `volley.toml` to use instead of the nearest. */
  readonly config?: string;
}

export interface CliCommand<O extends CommonOptions = CommonOptions> {
  /** Whole command lines, for the help. */
  readonly examples: readonly string[];
  /** Declares arguments and options. */
  declare(program: Program): void;
  run(args: readonly string[], options: O, io: Io): Promise<ExitStatus>;
}

/** A command as the help lists it. The rest is loaded when it is used, so that every command starts quickly. */
export interface CommandEntry {
  readonly name: string;
  /** In one line. */
  readonly summary: string;
  /** The heading in the help. */
  readonly group?: string;
  /** Whether it only prints something, so that it may end when nobody reads its output any more. */
  readonly onlyShows?: boolean;
  load(): Promise<CliCommand>;
}

/** Checks that a command matches the type of its options. */
export function defineCommand<O extends CommonOptions>(command: CliCommand<O>): CliCommand {
  return command as unknown as CliCommand;
}
