import { VolleyError } from './errors.ts';
import { checkNumber, show } from './numbers.ts';

/** How much an execution reads and writes; each weighs differently against the limit `ioOperations`. */
export type IoIntensity = 'none' | 'low' | 'medium' | 'high';

const IO_WEIGHTS: Readonly<Record<IoIntensity, number>> = { none: 0, low: 1, medium: 2, high: 4 };

/** What an execution needs while it runs. All of it is taken at once or not at all. */
export interface ResourceRequirements {
  /** CPU cores; 0.5 is half of one. Default 0.1. */
  readonly cpu?: number;
  /** Memory in megabytes. Default 100. */
  readonly memoryMb?: number;
  /** Low, medium and high take 1, 2 and 4 of the I/O operations. Default low. */
  readonly io?: IoIntensity;
  /** Takes one of the network operations. Default false. */
  readonly network?: boolean;
  /** Names that no other execution may hold at the same time, in whatever way. */
  readonly exclusive?: readonly string[];
  /** Names that others may hold as shared, but not as exclusive, at the same time. */
  readonly shared?: readonly string[];
}

/** The countable resources, in the order of every vector of the core. */
export const RESOURCES = ['concurrency', 'cpu', 'memoryMb', 'ioOperations', 'networkOperations'] as const;

/** The name of a countable resource. */
export type ResourceName = (typeof RESOURCES)[number];

export const CONCURRENCY = 0;

/** Amounts are whole thousandths inside the core, so that adding and subtracting is exact. */
export const SCALE = 1000;

/** One amount for each of RESOURCES, in thousandths. */
export type ResourceVector = readonly number[];

export interface LockDemand {
  readonly name: string;
  readonly exclusive: boolean;
}

const NO_LOCKS: readonly LockDemand[] = [];

const DEFAULT_NEEDS: ResourceVector = [SCALE, 0.1 * SCALE, 100 * SCALE, SCALE, 0];

const LARGEST_AMOUNT = 1e9;
const MAX_LOCKS = 64;

/** The countable part of a demand, written into `into`: most demands are known already and need no vector of their own. */
export function neededAmounts(resources: ResourceRequirements | undefined, into: number[]): ResourceVector {
  if (resources === undefined) return DEFAULT_NEEDS;
  if (typeof resources !== 'object' || resources === null) {
    throw new VolleyError(
      'INVALID_VALUE',
      `resources must be an object such as { cpu: 0.5 }, but it is ${show(resources)}.`,
    );
  }
  const { cpu, memoryMb, network } = resources;
  into[0] = SCALE;
  into[1] = cpu === undefined ? DEFAULT_NEEDS[1]! : amount('resources.cpu', cpu);
  into[2] = memoryMb === undefined ? DEFAULT_NEEDS[2]! : amount('resources.memoryMb', memoryMb);
  into[3] = ioWeight(resources.io) * SCALE;
  into[4] = network === true ? SCALE : networkNeed(network);
  return into;
}

/** The named part of a demand, without repetitions: exclusive wins where a name stands in both lists. */
export function neededLocks(resources: ResourceRequirements | undefined): readonly LockDemand[] {
  if (resources === undefined || (resources.exclusive === undefined && resources.shared === undefined))
    return NO_LOCKS;
  const locks: LockDemand[] = [];
  addLocks(locks, 'exclusive', resources.exclusive);
  addLocks(locks, 'shared', resources.shared);
  if (locks.length > MAX_LOCKS) {
    throw new VolleyError(
      'INVALID_VALUE',
      `An execution may hold at most ${MAX_LOCKS} locks, but ${locks.length} are asked for.`,
    );
  }
  return locks;
}

function amount(name: string, value: number): number {
  if (typeof value === 'number' && value >= 0 && value <= LARGEST_AMOUNT) return Math.round(value * SCALE);
  return checkNumber(name, value, { min: 0, max: LARGEST_AMOUNT });
}

function ioWeight(io: unknown): number {
  switch (io) {
    case undefined:
    case 'low':
      return IO_WEIGHTS.low;
    case 'none':
      return IO_WEIGHTS.none;
    case 'medium':
      return IO_WEIGHTS.medium;
    case 'high':
      return IO_WEIGHTS.high;
    default:
      throw new VolleyError(
        'INVALID_VALUE',
        `resources.io must be none, low, medium or high, but it is ${show(io)}.`,
      );
  }
}

function networkNeed(network: unknown): number {
  if (network === undefined || network === false) return 0;
  throw new VolleyError(
    'INVALID_VALUE',
    `resources.network must be true or false, but it is ${show(network)}.`,
  );
}

function addLocks(locks: LockDemand[], field: 'exclusive' | 'shared', names: unknown): void {
  if (names === undefined) return;
  checkNames(`resources.${field}`, names);
  for (const name of names) {
    if (!locks.some((lock) => lock.name === name)) locks.push({ name, exclusive: field === 'exclusive' });
  }
}

/** A list of non-empty names, as locks and conflicts have it. */
export function checkNames(field: string, names: unknown): asserts names is readonly string[] {
  const isList = Array.isArray(names);
  // Not `every` alone, which passes over holes.
  if (!isList || !Array.from(names).every((name) => typeof name === 'string' && name !== ''))
    throw new VolleyError(
      'INVALID_VALUE',
      `${field} must be a list of non-empty names, but it is ${show(names)}.`,
    );
}
