import { type Command, InvalidArgumentError } from 'commander';
import type { RunSource } from '../input/collect-tasks.ts';

export function numberOption(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) throw new InvalidArgumentError('Must be a number.');
  return value;
}

/** A comma-separated list. Commas in braces do not separate: `*.{ts,js}` is one item. */
export function listOption(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(/,(?![^{]*\})/).filter((item) => item !== '')];
}

export const BATCH_OPTION = ['--batch <name>', 'the batch (default: "default", or the only one)'] as const;

/** For commands that add something or cannot be undone: the only batch must be named, too. */
export const NAMED_BATCH_OPTION = ['--batch <name>', 'the batch (default: "default")'] as const;

/** For commands that take a task file. */
export const FILE_BATCH_OPTION = ['--batch <name>', 'the batch (default: the file name)'] as const;

/** A duration such as 500ms, 2s, 1.5min or 1h, in milliseconds. A bare number is seconds. */
export function spanOption(text: string): number {
  const [, number = '', unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)?$/.exec(text.trim()) ?? [];
  if (number === '') throw new InvalidArgumentError('Must be a duration such as 500ms, 2s or 1.5min.');
  return Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS];
}

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000 } as const;

export function numbersOption(text: string): number[] {
  const numbers = text.split(',').map(numberOption);
  if (numbers.every((number) => Number.isInteger(number) && number > 0 && number <= 10_000)) return numbers;
  throw new InvalidArgumentError('Must be integers from 1 to 10000, such as 4,8,16.');
}

/** What `sourceOptions` declares. */
export interface SourceOptions {
  readonly each?: readonly string[];
  readonly function?: string;
  readonly params?: string;
  readonly ask?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly schema?: string;
  readonly worktrees?: boolean;
}

export function sourceOf(options: SourceOptions): Omit<RunSource, 'file'> {
  const { each, function: tool, params, ask, agent, model, schema, worktrees } = options;
  return { each, function: tool, params, ask, agent, model, schema, worktrees };
}

/** The sources of tasks for `run`, `plan` and `simulate`. */
export function sourceOptions(program: Command): Command {
  return program
    .argument('[file]', 'a task file (JSON, JSON Lines, YAML or TOML), or - for standard input')
    .option('--each <globs>', 'create a task for each matching file', listOption)
    .option('--function <name>', 'with --each: the tool to call')
    .option('--params <json>', 'with --each: its arguments; {} is the path of the file')
    .option('--ask <prompt>', 'with --each: ask about each file; {} is its path')
    .option('--agent <name>', 'with --ask: the agent to ask (default: agent under [tasks] in volley.toml)')
    .option('--model <name>', 'with --ask: the model to ask instead of an agent')
    .option('--schema <file>', 'with --ask: the JSON Schema of the answers')
    .option('--worktrees', 'with --ask: let agents change files, each in its own git worktree and branch');
}
