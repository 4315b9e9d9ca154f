import { Command, CommanderError } from 'commander';
import { nearest } from '../core/nearest.ts';
import type { CliCommand } from './command.ts';
import { EXIT, type ExitStatus, type Io } from './io.ts';
import { reportError } from './report.ts';

/** Reads the command line and runs what it says. The answer is the exit status. */
export async function runProgram(
  argv: readonly string[],
  commands: readonly CliCommand[],
  version: string,
  io: Io,
): Promise<ExitStatus> {
  let status: ExitStatus = EXIT.ok;
  const program = new Command('volley')
    .description(
      "Runs an AI agent's work in parallel: batches of tool calls, with dependencies, limits and live progress.",
    )
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    })
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      '\nvolley help COMMAND tells more of a command, with examples. volley init makes a start.',
    );
  for (const command of commands) {
    const declared = program
      .command(command.name)
      .description(command.summary)
      .option('--json', 'answer as JSON')
      .option('--config <file>', 'a certain volley.toml instead of the nearest');
    command.declare(declared);
    declared.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  ${line}\n`).join('')}`);
    declared.action(async () => {
      const options = declared.opts();
      try {
        status = await command.run(declared.args, options, io);
      } catch (error) {
        status = reportError(error, options['json'] === true, io);
      }
    });
  }
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : unknownCommand(error, argv, commands, io);
  }
  return status;
}

/** Commander has said what is wrong; a wrong word gets the nearest right one. */
function unknownCommand(
  { code }: CommanderError,
  [word]: readonly string[],
  commands: readonly CliCommand[],
  io: Io,
): ExitStatus {
  if (code === 'commander.unknownCommand' && word !== undefined) {
    const close = nearest(
      word,
      commands.map(({ name }) => name),
    );
    if (close === undefined) io.stderr.write('volley --help lists all commands.\n');
  }
  return EXIT.usage;
}
