import { Command, CommanderError } from 'commander';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { reportError } from '../output/messages.ts';
import { rewriteCommands } from '../output/wording.ts';
import { type CommandEntry, type CommonOptions, defineCommand } from '../program/command.ts';
import { addHelpNote, writeHelpTo } from '../program/help.ts';
import { declare, errorLine, runEntry } from '../program/program.ts';
import { TASKS_COMMANDS } from './tasks/all.ts';

const NAMES = TASKS_COMMANDS.map((entry) => entry.name);

/** The group of commands for features and subtasks. */
export const tasksCommand = defineCommand<CommonOptions>({
  examples: ['volley tasks status', 'volley tasks next auth-system', 'volley tasks help complete'],
  declare: (program) => {
    // The named command parses the rest.
    program.argument('[command]').argument('[arguments...]').allowUnknownOption().helpOption(false);
    const { group } = createGroup();
    program.helpInformation = () => group.copyInheritedSettings(program).helpInformation();
  },
  run: async (words, { json = false, config }, io) => {
    const [asked, ...rest] = words;
    if (asked === undefined && json) throw noCommand();
    if (asked === undefined) return runGroup(['help'], EXIT.usage, io);
    const [name] = asked === 'help' ? rest : words;
    if (name !== undefined && !name.startsWith('-')) checkName(name);
    const common = [...(json ? ['--json'] : []), ...(config === undefined ? [] : ['--config', config])];
    return runGroup([...words, ...common], EXIT.ok, io);
  },
});

function noCommand(): VolleyError {
  return new VolleyError('INVALID_VALUE', `Choose a volley tasks command: ${NAMES.join(', ')}.`);
}

function checkName(name: string): void {
  if (NAMES.includes(name)) return;
  const close = nearest(name, NAMES);
  const hint = close === undefined ? `Commands: ${NAMES.join(', ')}.` : `Did you mean ${close}?`;
  throw new VolleyError('INVALID_VALUE', `Unknown command volley tasks ${name}. ${hint}`, {
    nearest: close,
  });
}

async function runGroup(words: readonly string[], ok: ExitStatus, io: Io): Promise<ExitStatus> {
  const { group, declared } = createGroup();
  const isJson = words.includes('--json');
  writeHelpTo(group, io)
    .exitOverride()
    .configureOutput({
      // With --json, errors are reported as JSON below.
      writeErr: (text) => void (isJson || io.stderr.write(text)),
    });
  let status = ok;
  const name = words[0] === 'help' ? words[1] : words[0];
  const found = declared.find(({ entry }) => entry.name === name);
  if (found !== undefined) {
    const { program } = found;
    program.copyInheritedSettings(group);
    const command = declare(program, await found.entry.load());
    program.action(async () => {
      try {
        status = await runEntry(found.entry, command, program.args, program.opts(), io);
      } catch (error) {
        status = reportError(error, program.opts(), io);
      }
    });
  }
  try {
    await group.parseAsync([...words], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0 && isJson) throw new VolleyError('INVALID_VALUE', errorLine(error));
    if (error.exitCode !== 0 && found !== undefined) io.stderr.write(usageText(found.program, io));
    return error.exitCode === 0 ? status : EXIT.usage;
  }
  return status;
}

/** How to call a command, after an error. */
function usageText(program: Command, io: Io): string {
  const usage = `Usage: volley tasks ${program.name()} ${program.usage()}`;
  return rewriteCommands(`${usage}\nFor details: volley tasks help ${program.name()}\n`, {}, io);
}

function createGroup() {
  const group = new Command('volley tasks').description(
    'Features and their subtasks in .tmp/tasks, done by parallel agents and verified.',
  );
  addHelpNote(group, 'Run volley tasks help COMMAND for details and examples.');
  const declared = TASKS_COMMANDS.map((entry: CommandEntry) => ({
    entry,
    program: group.command(entry.name).description(entry.summary),
  }));
  return { group, declared };
}
