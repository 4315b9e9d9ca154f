import { parseArgs } from 'node:util';

export interface BenchOptions {
  /** A reduced set, for a first look. */
  readonly isQuick: boolean;
  /** The scenarios to run; empty for all. */
  readonly only: readonly string[];
  readonly repeats: number;
  /** Whether to write RESULTS.md. */
  readonly write: boolean;
}

const REPEATS = 5;
const QUICK_REPEATS = 3;

export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      repeats: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const repeats = Number(values.repeats ?? (values.quick ? QUICK_REPEATS : REPEATS));
  if (!Number.isInteger(repeats) || repeats < 1) throw new Error('--repeats takes a whole number from 1');
  const only = values.only.flatMap((names) => names.split(','));
  return { isQuick: values.quick, only, repeats, write: values.write };
}
