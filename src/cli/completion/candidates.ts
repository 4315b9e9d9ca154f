import { Command } from 'commander';
import { TASK_STATUSES } from '../../batch/counts.ts';
import { PRIORITIES } from '../../core/priority.ts';
import { chosenBatch } from '../ask.ts';
import type { CommonOptions } from '../command.ts';
import { COMMANDS } from '../commands.ts';
import type { Io } from '../io.ts';
import { declare } from '../program.ts';
import { withSession } from '../session.ts';
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

const MOST_IDS = 1000;

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
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  results: ['summary', 'detailed', 'json'],
  export: ['json', 'csv', 'jsonl', 'markdown'],
};
const ARGUMENTS: Readonly<Record<string, Values>> = {
  explain: ids,
  cancel: ids,
  help: commands,
  completion: () => plain(Object.keys(COMPLETION_SCRIPTS)),
};

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
  const [name, before, current] = [words[0] ?? '', words.at(-2), words.at(-1) ?? ''];
  if (words.length < 2) return [...commands(), ...plain(['--help', '--version'])];
  const entry = COMMANDS.find((command) => command.name === name);
  if (entry === undefined) return ARGUMENTS[name]?.(asked) ?? [];
  const declared = new Command(name);
  declare(declared, await entry.load());
  if (declared.commands.length > 0 && words.length === 2)
    return declared.commands.map((inner) => ({ word: inner.name(), about: inner.description() }));
  const option = declared.options.find(({ long }) => long === before);
  if (option?.required) {
    if (before === '--format') return plain(FORMATS[name] ?? []);
    return VALUES[before!]?.(asked) ?? [];
  }
  if (!current.startsWith('-')) return ARGUMENTS[name]?.(asked) ?? [];
  return declared.options.map(({ long, description }) => ({ word: long ?? '', about: description }));
}

function commands(): Candidate[] {
  return COMMANDS.map(({ name, summary }) => ({ word: name, about: summary }));
}

function batches({ options, io }: Asked): Promise<Candidate[]> {
  return withSession(options, io, async ({ store }) => plain(store.batches().map(({ name }) => name)));
}

function ids({ words, options, io }: Asked): Promise<Candidate[]> {
  return withSession(options, io, async ({ store }) => {
    const place = words.indexOf('--batch');
    const batch = chosenBatch(store, place < 0 ? undefined : words[place + 1]);
    return store.tasks(batch, { limit: MOST_IDS }).map(({ id, name, status }) => ({
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

function plain(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, about: '' }));
}
