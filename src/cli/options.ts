import { type Command, InvalidArgumentError } from 'commander';

/** Readers of options: they refuse what cannot be right, and the executor checks the rest. */

export function numberOption(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}

/** Texts with commas between them, but for commas in the braces of a glob: `*.{ts,js}` is one. */
export function listOption(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(/,(?![^{]*\})/).filter((item) => item !== '')];
}

export const BATCH_OPTION = [
  '--batch <name>',
  'the batch (default: "default", or the only batch there is)',
] as const;

/** For what adds or cannot be taken back: there the only batch must be named like any other. */
export const NAMED_BATCH_OPTION = ['--batch <name>', 'the batch (default: "default")'] as const;

/** A span of time such as 500ms, 2s, 1.5min or 1h; a bare number is seconds. The answer is in milliseconds. */
export function spanOption(text: string): number {
  const [, number = '', unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)?$/.exec(text.trim()) ?? [];
  if (number === '') throw new InvalidArgumentError('It must be a span of time such as 500ms, 2s or 1.5min.');
  return Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS];
}

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000 } as const;

/** Numbers with commas: 4,8,16. */
export function numbersOption(text: string): number[] {
  const numbers = text.split(',').map(numberOption);
  if (numbers.every((number) => Number.isInteger(number) && number > 0 && number <= 10_000)) return numbers;
  throw new InvalidArgumentError('They must be whole numbers from 1 to 10000, such as 4,8,16.');
}

/** Where the tasks of `run` and `simulate` come from. */
export function sourceOptions(program: Command): Command {
  return program
    .argument('[file]', 'JSON, JSON Lines, YAML or TOML; - for standard input')
    .option('--each <globs>', 'one task for each file that matches', listOption)
    .option('--function <name>', 'with --each: the tool')
    .option('--params <json>', 'with --each: its arguments; {} stands for the path');
}
