import { VolleyError } from './errors.ts';
import { checkNumber, show } from './numbers.ts';
import { DEMAND_FIELDS, type ResourceNames, resourceNameProblem, unknownResource } from './resource-names.ts';
import { type CountableNeeds, RESOURCE_TABLE } from './resource-table.ts';

/** How much an execution reads and writes; each level counts differently against `ioOperations`. */
export type IoIntensity = NonNullable<CountableNeeds['io']>;

/**
 * The resources an execution needs while it runs. They are taken all at once.
 *
 * `cpu` is a number of cores (0.5 is half of one, default 0.1), `memoryMb` is in megabytes (default 100), `io` is
 * `none`, `low`, `medium` or `high` and takes 0, 1, 2 or 4 of the I/O operations (default `low`), and `network` says
 * whether it takes one of the network operations (default false). Any other field is the amount of a named resource,
 * such as `gpu: 1` (default 0); a name that was not declared is refused.
 */
export interface ResourceRequirements extends CountableNeeds {
  /** Names that no other execution may hold at the same time, shared or exclusive. */
  readonly exclusive?: readonly string[];
  /** Names that others may hold at the same time as shared, but not as exclusive. */
  readonly shared?: readonly string[];
  readonly [name: string]: number | boolean | string | readonly string[] | undefined;
}

export const CONCURRENCY = 0;

/** Amounts are integer thousandths inside the core, so that arithmetic is exact. */
export const SCALE = 1000;

/**
 * One amount for each of {@link ResourceNames}, in thousandths. It ends with the last named resource that is needed, so
 * it is longer than the built-in ones only for those that use others.
 */
export type ResourceVector = readonly number[];

export interface LockDemand {
  readonly name: string;
  readonly exclusive: boolean;
}

const NO_LOCKS: readonly LockDemand[] = [];

/** What an execution needs that says nothing. */
export const DEFAULT_NEEDS: ResourceVector = [1, ...RESOURCE_TABLE.map(({ defaultNeed }) => defaultNeed)].map(
  (amount) => amount * SCALE,
);

/** The most that one execution can ask for. */
export const MAX_AMOUNT = 1e9;
const MAX_LOCKS = 64;

/** Writes the countable part of a demand to `into`: most demands are known and need no vector of their own. */
export function neededAmounts(
  resources: ResourceRequirements | undefined,
  into: number[],
  names: ResourceNames,
): ResourceVector {
  if (resources === undefined) return DEFAULT_NEEDS;
  checkIsObject(resources);
  names.check(resources);
  builtInAmounts(resources, into);
  return names.named.size === 0 ? into : withNamed(resources, into, names);
}

/**
 * Checks the countable part of a demand without knowing which resources are declared: a name that no resource can have
 * is refused.
 */
export function checkAmounts(resources: ResourceRequirements): void {
  checkIsObject(resources);
  for (const [field, value] of Object.entries(resources)) {
    if (value === undefined || DEMAND_FIELDS.includes(field)) continue;
    // A misspelled lock is not a number.
    if (resourceNameProblem(field) !== undefined || typeof value !== 'number')
      throw unknownResource(field, DEMAND_FIELDS);
    namedAmount(field, value);
  }
  builtInAmounts(resources, []);
}

function checkIsObject(resources: unknown): void {
  if (typeof resources === 'object' && resources !== null) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `resources must be an object such as { cpu: 0.5 }, but it is ${show(resources)}.`,
  );
}

function builtInAmounts(resources: ResourceRequirements, into: number[]): void {
  into[CONCURRENCY] = SCALE;
  for (let row = 0; row < RESOURCE_TABLE.length; row++) {
    const value = resources[RESOURCE_TABLE[row]!.need];
    into[row + 1] = value === undefined ? DEFAULT_NEEDS[row + 1]! : amountOf(row, value);
  }
}

/** Returns a vector of its own if the demand has named resources. */
function withNamed(
  resources: ResourceRequirements,
  builtIn: readonly number[],
  { named }: ResourceNames,
): ResourceVector {
  let needs: number[] | undefined;
  for (const [name, index] of named) {
    // A name such as "constructor" must not be looked up in the prototype.
    const value = Object.hasOwn(resources, name) ? resources[name] : undefined;
    const amount = value === undefined ? 0 : namedAmount(name, value);
    if (amount === 0) continue;
    needs ??= [...builtIn];
    while (needs.length < index) needs.push(0);
    needs.push(amount);
  }
  return needs ?? builtIn;
}

/** The named resources of a valid demand, with the amounts. */
export function namedNeeds(resources: ResourceRequirements): [name: string, amount: number][] {
  return Object.entries(resources).flatMap(([name, amount]) =>
    typeof amount === 'number' && amount > 0 && !DEMAND_FIELDS.includes(name) ? [[name, amount]] : [],
  );
}

function namedAmount(name: string, value: unknown): number {
  return Math.round(checkNumber(`resources.${name}`, value, { min: 0, max: MAX_AMOUNT }) * SCALE);
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
