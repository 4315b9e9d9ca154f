import { Command, CommanderError } from 'commander';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { noteExtraArgument, noteUnexpandedHome, reportError } from '../output/messages.ts';
import { programName } from '../output/wording.ts';
import type { CliCommand, CommandEntry, CommonOptions } from './command.ts';
import { addHelpNote, writeHelpTo } from './help.ts';

/** Parses the command line and runs the command. */
export async function runProgram(
  argv: readonly string[],
  commands: readonly CommandEntry[],
  version: string,
  io: Io,
): Promise<ExitStatus> {
  let status: ExitStatus = EXIT.ok;
  const isCommand = (word: string) => word === 'help' || commands.some(({ name }) => name === word);
  const isJson = argv.includes('--json');
  const name = programName(io);
  const program = writeHelpTo(new Command(name), io)
    .description(
      "Runs an AI agent's work in parallel: batches of tool calls with dependencies, limits and live progress.",
    )
    .version(version)
    .exitOverride()
    .configureOutput({
      // With --json, errors are reported as JSON below.
      writeErr: (text) => void (isJson || io.stderr.write(text)),
    })
    .showSuggestionAfterError();
  addHelpNote(
    program,
    `For details and examples, run: ${name} help COMMAND\nTo get started, run: ${name} init`,
  );
  const asked = argv[0] === 'help' ? argv[1] : argv[0];
  for (const entry of commands) {
    const { summary, group, load } = entry;
    const declared = program.command(entry.name).description(summary);
    if (group !== undefined) declared.helpGroup(group);
    if (entry.name !== asked) continue;
    const command = declare(declared, await load());
    declared.action(async () => {
      const options = declared.opts();
      try {
        status = await runEntry(entry, command, declared.args, options, io);
      } catch (error) {
        status = reportError(error, options, io);
      }
      if (status === EXIT.usage && !isJson) noteUnexpandedHome(argv, io);
    });
  }
  try {
    // For an unknown word, the error suggests a command.
    const isUnknown = argv[0] === 'help' && asked !== undefined && !isCommand(asked);
    await program.parseAsync(isUnknown ? [asked] : [...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    if (isJson) return reportError(new VolleyError('INVALID_VALUE', errorLine(error)), { json: true }, io);
    noteExtraArgument(
      error,
      program.commands.find((declared) => declared.name() === asked),
      io,
    );
    return hintUnknown(error, asked, commands, io);
  }
  return status;
}

/** Declares the options of a command, and its examples. */
export function declare(declared: Command, command: CliCommand): CliCommand {
  declared
    .option('--json', 'print JSON')
    .option('--config <file>', 'use this volley.toml instead of the nearest one');
  command.declare(declared);
  declared.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  ${line}\n`).join('')}`);
  return command;
}

/** Runs a command. One that does more than show something runs to its end even if nobody reads its output. */
export function runEntry(
  { onlyShows = false }: CommandEntry,
  command: CliCommand,
  args: readonly string[],
  options: CommonOptions & { readonly dryRun?: boolean; readonly print?: boolean },
  io: Io,
): Promise<ExitStatus> {
  if (!onlyShows && !options.dryRun && !options.print) io.outliveReader();
  return command.run(args, options, io);
}

/** The message on one line. */
export function errorLine({ message }: CommanderError): string {
  return message.replace(/^error: /, '').replaceAll('\n', ' ');
}

/** Commander has reported the error, with the nearest command if there is one. */
function hintUnknown(
  { code }: CommanderError,
  word: string | undefined,
  commands: readonly CommandEntry[],
  io: Io,
): ExitStatus {
  if (code === 'commander.unknownCommand' && word !== undefined) {
    const close = nearest(
      word,
      commands.map(({ name }) => name),
    );
    if (close === undefined) io.stderr.write(`To list all commands, run: ${programName(io)} --help\n`);
  }
  return EXIT.usage;
}
