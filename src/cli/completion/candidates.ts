import { Command } from 'commander';
import { SCOPES } from '../../batch/actions/define-action.ts';
import { PRIORITIES } from '../../core/priority.ts';
import { TASK_STATUSES } from '../../store/records.ts';
import { chosenBatch, namedBatch } from '../ask.ts';
import type { CommonOptions } from '../command.ts';
import { TASKS_COMMANDS } from '../commands/tasks/all.ts';
import { COMMANDS, type CommandEntry } from '../commands.ts';
import type { Io } from '../io.ts';
import { declare } from '../program.ts';
import { withSession, withStore } from '../session.ts';
import { COMPLETION_SCRIPTS } from './scripts.ts';

/** A word that may stand where the cursor is. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** What is known of the line before the cursor. */
interface Asked {
  readonly words: readonly string[];
  readonly options: CommonOptions;
  readonly io: Io;
}

type Values = (asked: Asked) => Promise<Candidate[]> | Candidate[];

const MAX_IDS = 1000;

const VALUES: Readonly<Record<string, Values>> = {
  '--batch': batches,
  '--function': functions,
  '--id': ids,
  '--ids': ids,
  '--depends-on': ids,
  '--priority': () => plain([...PRIORITIES, 'medium']),
  '--filter-status': () => plain(TASK_STATUSES),
  '--on-dependency-failure': () => plain(['skip', 'run', 'on-failure']),
};
/** Of options that mean another thing in each command. */
const VALUES_OF_COMMANDS: Readonly<Record<string, Values>> = {
  'results --format': () => plain(['summary', 'detailed', 'json']),
  'export --format': () => plain(['json', 'csv', 'jsonl', 'markdown']),
  'mcp --scope': () => plain(['project', 'user']),
  'token --scope': () => plain(SCOPES),
  'serve --log-level': async () => plain((await import('../../server/log/log.ts')).LOG_LEVELS),
};
const ARGUMENTS: Readonly<Record<string, Values>> = {
  explain: ids,
  cancel: ids,
  help: () => named(COMMANDS),
  completion: () => plain(Object.keys(COMPLETION_SCRIPTS)),
  mcp: mcpWords,
};
/** Where the first argument of a command of `tasks` is a file, not a feature. */
const TASKS_OF_FILES: readonly string[] = ['new', 'import'];

/** The words that begin as the last one does. What is wrong with the folder is no business of the cursor's: then none. */
export async function completionsFor(
  words: readonly string[],
  options: CommonOptions,
  io: Io,
): Promise<Candidate[]> {
  const current = words.at(-1) ?? '';
  try {
    const found = await valuesFor({ words, options, io });
    return found.filter(({ word }) => word.startsWith(current));
  } catch {
    return [];
  }
}

async function valuesFor(asked: Asked): Promise<Candidate[]> {
  const { words } = asked;
  if (words.length < 2) return [...named(COMMANDS), ...plain(['--help', '--version'])];
  if (words[0] === 'tasks') return tasksValues({ ...asked, words: words.slice(1) });
  const entry = COMMANDS.find(({ name }) => name === words[0]);
  if (entry === undefined) return ARGUMENTS[words[0]!]?.(asked) ?? [];
  return argumentsOf(entry, asked, ARGUMENTS[entry.name]);
}

function tasksValues(asked: Asked): Promise<Candidate[]> | Candidate[] {
  const { words } = asked;
  const [name] = words;
  if (words.length < 2 || name === 'help') return named(TASKS_COMMANDS);
  const entry = TASKS_COMMANDS.find((one) => one.name === name);
  if (entry === undefined) return [];
  const hasFeature = words.length === 2 && !TASKS_OF_FILES.includes(entry.name);
  return argumentsOf(entry, asked, hasFeature ? features : undefined);
}

/** What may follow a command: values of an option, options, or its argument. */
async function argumentsOf(
  entry: CommandEntry,
  asked: Asked,
  argument: Values | undefined,
): Promise<Candidate[]> {
  const { words } = asked;
  const [before, current] = [words.at(-2), words.at(-1) ?? ''];
  const declared = new Command(entry.name);
  declare(declared, await entry.load());
  if (declared.commands.length > 0 && words.length === 2)
    return declared.commands.map((inner) => ({ word: inner.name(), about: inner.description() }));
  const values = (option: string | undefined) => {
    if (declared.options.find(({ long }) => long === option)?.required !== true) return undefined;
    return (VALUES_OF_COMMANDS[`${entry.name} ${option}`] ?? VALUES[option!])?.(asked) ?? [];
  };
  const [, option] = /^(--[^=]+)=/.exec(current) ?? [];
  if (option !== undefined) {
    return ((await values(option)) ?? []).map(({ word, about }) => ({ word: `${option}=${word}`, about }));
  }
  const found = values(before);
  if (found !== undefined) return found;
  if (!current.startsWith('-')) return argument?.(asked) ?? [];
  return declared.options.map(({ long, description }) => ({ word: long ?? '', about: description }));
}

/** `install`, then the client. */
async function mcpWords({ words }: Asked): Promise<Candidate[]> {
  const before = words.slice(1, -1).filter((word) => !word.startsWith('-'));
  if (before.length === 0) return [{ word: 'install', about: 'write it into the configuration of a client' }];
  if (before.length > 1 || before[0] !== 'install') return [];
  const { MCP_CLIENTS } = await import('../mcp/install/clients.ts');
  return MCP_CLIENTS.map(({ name, title }) => ({ word: name, about: title }));
}

function named(commands: readonly CommandEntry[]): Candidate[] {
  return commands.map(({ name, summary }) => ({ word: name, about: summary }));
}

async function features({ io }: Asked): Promise<Candidate[]> {
  const { TaskFolder } = await import('../../tasks/files/task-folder.ts');
  return plain(await TaskFolder.nearest(io.cwd).names());
}

function batches({ options, io }: Asked): Promise<Candidate[]> {
  return withStore(options, io, async ({ store }) => plain((await store.batches()).map(({ name }) => name)));
}

function ids({ words, options, io }: Asked): Promise<Candidate[]> {
  return withStore(options, io, async ({ store }) => {
    const named = optionIn('--batch', words);
    const batch = words[0] === 'cancel' ? await namedBatch(store, named) : await chosenBatch(store, named);
    return (await store.tasks(batch, { limit: MAX_IDS })).map(({ id, name, status }) => ({
      word: id,
      about: `${status}: ${name}`,
    }));
  });
}

function functions({ options, io }: Asked): Promise<Candidate[]> {
  return withSession(options, io, async ({ coordinator }) =>
    (await coordinator()).tools().map(({ name, description }) => ({
      word: name,
      about: description.split('\n')[0]!,
    })),
  );
}

function optionIn(option: string, words: readonly string[]): string | undefined {
  const place = words.findIndex((word) => word === option || word.startsWith(`${option}=`));
  if (place < 0) return undefined;
  return words[place] === option ? words[place + 1] : words[place]!.slice(option.length + 1);
}

function plain(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, about: '' }));
}
