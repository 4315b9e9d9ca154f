import { Command, CommanderError } from 'commander';
import { VolleyError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import type { CliCommand, CommonOptions } from './command.ts';
import type { CommandEntry } from './commands.ts';
import { addHelpNote, writeHelpTo } from './help.ts';
import { EXIT, type ExitStatus, type Io } from './io.ts';
import { noteExcess } from './output/excess-note.ts';
import { noteHome } from './output/home-note.ts';
import { ownName } from './output/own-name.ts';
import { reportError } from './report.ts';

/** Reads the command line and runs what it says. The answer is the exit status. */
export async function runProgram(
  argv: readonly string[],
  commands: readonly CommandEntry[],
  version: string,
  io: Io,
): Promise<ExitStatus> {
  let status: ExitStatus = EXIT.ok;
  const isCommand = (word: string) => word === 'help' || commands.some(({ name }) => name === word);
  const isJson = argv.includes('--json');
  const own = ownName(io);
  const program = writeHelpTo(new Command(own), io)
    .description(
      "Runs an AI agent's work in parallel: batches of tool calls, with dependencies, limits and live progress.",
    )
    .version(version)
    .exitOverride()
    .configureOutput({
      // For a program, what is wrong is said as JSON below.
      writeErr: (text) => void (isJson || io.stderr.write(text)),
    })
    .showSuggestionAfterError();
  addHelpNote(
    program,
    `${own} help COMMAND tells more of a command, with examples. ${own} init makes a start.`,
  );
  const asked = argv[0] === 'help' ? argv[1] : argv[0];
  for (const entry of commands) {
    const { name, summary, group, load } = entry;
    const declared = program.command(name).description(summary);
    if (group !== undefined) declared.helpGroup(group);
    if (name !== asked) continue;
    const command = declare(declared, await load());
    declared.action(async () => {
      const options = declared.opts();
      try {
        status = await runCommand(entry, command, declared.args, options, io);
      } catch (error) {
        status = reportError(error, options, io);
      }
      if (status === EXIT.usage && !isJson) noteHome(argv, io);
    });
  }
  try {
    // Help for a word that is no command is no help: what was meant is.
    const isLost = argv[0] === 'help' && asked !== undefined && !isCommand(asked);
    await program.parseAsync(isLost ? [asked] : [...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    if (isJson) return reportError(new VolleyError('INVALID_VALUE', wordsOf(error)), { json: true }, io);
    noteExcess(
      error,
      program.commands.find((declared) => declared.name() === asked),
      io,
    );
    return unknownCommand(error, asked, commands, io);
  }
  return status;
}

/** Adds what a command takes, and its examples. */
export function declare(declared: Command, command: CliCommand): CliCommand {
  declared
    .option('--json', 'answer as JSON')
    .option('--config <file>', 'a certain volley.toml instead of the nearest');
  command.declare(declared);
  declared.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  ${line}\n`).join('')}`);
  return command;
}

/** Runs a command, to its end unless it only shows something. */
export function runCommand(
  { onlyShows = false }: CommandEntry,
  command: CliCommand,
  args: readonly string[],
  options: CommonOptions & { readonly dryRun?: boolean; readonly print?: boolean },
  io: Io,
): Promise<ExitStatus> {
  if (!onlyShows && !options.dryRun && !options.print) io.outliveReader();
  return command.run(args, options, io);
}

/** In one line, with what was meant. */
export function wordsOf({ message }: CommanderError): string {
  return message.replace(/^error: /, '').replaceAll('\n', ' ');
}

/** Commander has said what is wrong; a wrong word gets the nearest right one. */
function unknownCommand(
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
    if (close === undefined) io.stderr.write(`${ownName(io)} --help lists all commands.\n`);
  }
  return EXIT.usage;
}
