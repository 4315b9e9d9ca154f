import { InvalidArgumentError } from 'commander';

/** Readers of options: they refuse what cannot be right, and the executor checks the rest. */

export function numberOption(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}

export function concurrencyOption(text: string): number | 'auto' {
  return text === 'auto' ? text : numberOption(text);
}

/** JSON on the command line, which shells like to spoil. */
export function jsonOption(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(
      `It must be JSON, such as '{"path":"a.txt"}' in single quotes: ${(error as Error).message}.`,
    );
  }
}

export function listOption(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').filter((item) => item !== '')];
}

export const BATCH_OPTION = ['--batch <name>', 'the batch (default: "default")'] as const;
