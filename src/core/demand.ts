import { KnownFields } from './check-known.ts';
import { VolleyError } from './errors.ts';
import { checkNumber, show } from './numbers.ts';
import { type CountableNeeds, RESOURCE_TABLE, type ResourceLimits } from './resource-table.ts';

/** How much an execution reads and writes; each level counts differently against `ioOperations`. */
export type IoIntensity = NonNullable<CountableNeeds['io']>;

/**
 * The resources an execution needs while it runs. They are taken all at once.
 *
 * `cpu` is a number of cores (0.5 is half of one, default 0.1), `memoryMb` is in megabytes (default 100), `io` is
 * `none`, `low`, `medium` or `high` and takes 0, 1, 2 or 4 of the I/O operations (default `low`), and `network` says
 * whether it takes one of the network operations (default false).
 */
export interface ResourceRequirements extends CountableNeeds {
  /** Names that no other execution may hold at the same time, shared or exclusive. */
  readonly exclusive?: readonly string[];
  /** Names that others may hold at the same time as shared, but not as exclusive. */
  readonly shared?: readonly string[];
}

/** The countable resources, in the order of every vector in the core. */
export const RESOURCE_NAMES: readonly ResourceName[] = [
  'concurrency',
  ...RESOURCE_TABLE.map(({ name }) => name),
];

/** The name of a countable resource. */
export type ResourceName = 'concurrency' | keyof ResourceLimits;

export const CONCURRENCY = 0;

/** Amounts are integer thousandths inside the core, so that arithmetic is exact. */
export const SCALE = 1000;

/** One amount for each of RESOURCE_NAMES, in thousandths. */
export type ResourceVector = readonly number[];

export interface LockDemand {
  readonly name: string;
  readonly exclusive: boolean;
}

const NO_LOCKS: readonly LockDemand[] = [];

const DEFAULT_NEEDS: ResourceVector = [1, ...RESOURCE_TABLE.map(({ defaultNeed }) => defaultNeed)].map(
  (amount) => amount * SCALE,
);

const knownFields = new KnownFields(
  'field of resources',
  new Set([...RESOURCE_TABLE.map(({ need }) => need), 'exclusive', 'shared']),
);

const MAX_AMOUNT = 1e9;
const MAX_LOCKS = 64;

/** Writes the countable part of a demand to `into`: most demands are known and need no vector of their own. */
export function neededAmounts(resources: ResourceRequirements | undefined, into: number[]): ResourceVector {
  if (resources === undefined) return DEFAULT_NEEDS;
  if (typeof resources !== 'object' || resources === null) {
    throw new VolleyError(
      'INVALID_VALUE',
      `resources must be an object such as { cpu: 0.5 }, but it is ${show(resources)}.`,
    );
  }
  knownFields.check(resources);
  into[CONCURRENCY] = SCALE;
  for (let row = 0; row < RESOURCE_TABLE.length; row++) {
    const value = resources[RESOURCE_TABLE[row]!.need];
    into[row + 1] = value === undefined ? DEFAULT_NEEDS[row + 1]! : amountOf(row, value);
  }
  return into;
}

/** The locks of a demand without duplicates; exclusive wins if a name is in both lists. */
export function neededLocks(resources: ResourceRequirements | undefined): readonly LockDemand[] {
  if (resources === undefined || (resources.exclusive === undefined && resources.shared === undefined))
    return NO_LOCKS;
  const locks: LockDemand[] = [];
  addLocks(locks, 'exclusive', resources.exclusive);
  addLocks(locks, 'shared', resources.shared);
  if (locks.length > MAX_LOCKS) {
    throw new VolleyError(
      'INVALID_VALUE',
      `An execution may hold at most ${MAX_LOCKS} locks, but ${locks.length} are requested.`,
    );
  }
  return locks;
}

function amountOf(row: number, value: unknown): number {
  const { need, written } = RESOURCE_TABLE[row]!;
  if (written === 'number') {
    if (typeof value === 'number' && value >= 0 && value <= MAX_AMOUNT) return Math.round(value * SCALE);
    return checkNumber(`resources.${need}`, value, { min: 0, max: MAX_AMOUNT });
  }
  if (written === 'flag') {
    if (typeof value !== 'boolean') throw invalid(need, 'true or false', value);
    return value ? SCALE : 0;
  }
  if (typeof value !== 'string' || !Object.hasOwn(written, value))
    throw invalid(need, wordList(Object.keys(written)), value);
  return written[value as keyof typeof written] * SCALE;
}

function invalid(need: string, valid: string, value: unknown): VolleyError {
  return new VolleyError('INVALID_VALUE', `resources.${need} must be ${valid}, but it is ${show(value)}.`, {
    name: `resources.${need}`,
    value,
  });
}

function wordList(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function addLocks(locks: LockDemand[], field: 'exclusive' | 'shared', names: unknown): void {
  if (names === undefined) return;
  checkNames(`resources.${field}`, names);
  for (const name of names) {
    if (!locks.some((lock) => lock.name === name)) locks.push({ name, exclusive: field === 'exclusive' });
  }
}

/** Validates a list of non-empty names, for locks and conflicts. */
export function checkNames(field: string, names: unknown): asserts names is readonly string[] {
  const isList = Array.isArray(names);
  // Not only `every`, which skips holes.
  if (!isList || !Array.from(names).every((name) => typeof name === 'string' && name !== ''))
    throw new VolleyError(
      'INVALID_VALUE',
      `${field} must be a list of non-empty names, but it is ${show(names)}.`,
    );
}
