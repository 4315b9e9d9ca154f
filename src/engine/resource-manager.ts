import {
  neededAmounts,
  neededLocks,
  type ResourceRequirements,
  type ResourceVector,
  SCALE,
} from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import { checkNumber, checkObject, show } from '../core/numbers.ts';
import type { ByResource, ResourceName } from '../core/resource-names.ts';
import { type CountableLimits, ResourceAccounts, type ResourceUtilization } from '../core/resources.ts';

/** An allocation granted by {@link ResourceManager.tryAllocate}: plain data that survives JSON. */
export interface ResourceAllocation {
  /** Unique in this process. */
  readonly id: string;
  readonly owner: string;
  /** The time of day in milliseconds since 1970. */
  readonly allocatedAt: number;
  /** The amount taken of each resource. */
  readonly amounts: ByResource<number>;
  /** The names held exclusively. */
  readonly exclusive: readonly string[];
  /** The names held as shared. */
  readonly shared: readonly string[];
  /** When it was released; undefined while it is held. */
  readonly releasedAt?: number;
}

/** Why an allocation was rejected: the resource or lock that was not available. */
export type AllocationRefusal =
  | {
      readonly granted: false;
      readonly resource: ResourceName;
      readonly needed: number;
      readonly free: number;
    }
  | { readonly granted: false; readonly lock: string; readonly heldBy: string };

/** An allocation, or the reason why there is none. */
export type AllocationResult =
  | { readonly granted: true; readonly allocation: ResourceAllocation }
  | AllocationRefusal;

/** Options of a {@link ResourceManager} besides its limits. */
export interface ResourceManagerOptions {
  /** How many released allocations stay in the history. Default 1000. */
  readonly historySize?: number;
  /** The time of day in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

interface HeldAllocation {
  readonly allocation: ResourceAllocation;
  readonly needs: ResourceVector;
}

/** By owner, how often it holds a lock exclusively and how often shared. */
type LockHolds = Map<string, { exclusive: number; shared: number }>;

let allocationsMade = 0;

/**
 * Accounts for resources for callers who do their own scheduling. No limit is ever exceeded, a request is granted whole
 * or not at all, and every grant is returned exactly. Locks are reentrant per owner; others get a lock once it has been
 * released as often as it was taken.
 */
export class ResourceManager {
  private readonly accounts: ResourceAccounts;
  private readonly locks = new Map<string, LockHolds>();
  private readonly held = new Map<string, HeldAllocation>();
  private readonly past: ResourceAllocation[] = [];
  private readonly historySize: number;
  private readonly now: () => number;

  constructor(limits: CountableLimits = {}, options: ResourceManagerOptions = {}) {
    checkObject('The options of a resource manager', options);
    const { historySize = 1000, now = Date.now } = options;
    this.accounts = new ResourceAccounts(limits);
    this.historySize = checkNumber('historySize', historySize, { min: 0, max: 2 ** 24, integer: true });
    this.now = now;
  }

  /** Changes the given limits. Lowering one takes nothing from current holders. */
  setLimits(limits: CountableLimits): void {
    this.accounts.setLimits(limits);
  }

  /** Grants the whole request, or nothing. */
  tryAllocate(owner: string, requirements: ResourceRequirements): AllocationResult {
    if (typeof owner !== 'string')
      throw new VolleyError('INVALID_VALUE', `The owner must be a string, but it is ${show(owner)}.`);
    const needs = neededAmounts(requirements, [], this.accounts.names);
    const claims = neededLocks(requirements);
    const { accounts } = this;
    const short = accounts.shortage(needs);
    if (short >= 0) {
      const free = Math.max(0, accounts.limits[short]! - accounts.used[short]!) / SCALE;
      return { granted: false, resource: accounts.names.all[short]!, needed: needs[short]! / SCALE, free };
    }
    for (const { name, exclusive } of claims) {
      const heldBy = this.otherHolder(name, owner, exclusive);
      if (heldBy !== undefined) return { granted: false, lock: name, heldBy };
    }
    const namesOf = (alone: boolean) =>
      claims.filter(({ exclusive }) => exclusive === alone).map(({ name }) => name);
    const allocation: ResourceAllocation = {
      id: `allocation-${++allocationsMade}`,
      owner,
      allocatedAt: this.now(),
      amounts: accounts.names.byResource((index) => (needs[index] ?? 0) / SCALE),
      exclusive: namesOf(true),
      shared: namesOf(false),
    };
    accounts.take(needs);
    this.countLocks(allocation, 1);
    this.held.set(allocation.id, { allocation, needs });
    return { granted: true, allocation };
  }

  /**
   * Releases an allocation, or a copy of it. Releasing twice is an error: another owner may hold those resources by
   * now.
   */
  release(allocation: ResourceAllocation): void {
    const held = this.held.get((allocation as Partial<ResourceAllocation> | null)?.id ?? '');
    if (held === undefined || held.allocation.owner !== allocation.owner) {
      throw new VolleyError(
        'INVALID_VALUE',
        'release() was given an allocation that is not open: it may have been released before.',
      );
    }
    this.held.delete(allocation.id);
    this.accounts.giveBack(held.needs);
    this.countLocks(held.allocation, -1);
    this.past.push({ ...held.allocation, releasedAt: this.now() });
    if (this.past.length > this.historySize) this.past.shift();
  }

  /** The held allocations, oldest first. */
  allocations(): ResourceAllocation[] {
    return Array.from(this.held.values(), ({ allocation }) => allocation);
  }

  /** The most recently released allocations, in order of release, followed by the held ones. */
  history(): ResourceAllocation[] {
    return [...this.past, ...this.allocations()];
  }

  /** The current usage and limit of each countable resource. */
  utilization(): ResourceUtilization {
    return this.accounts.utilization();
  }

  /** The owner that blocks a lock, if any. */
  private otherHolder(name: string, owner: string, exclusive: boolean): string | undefined {
    for (const [holder, holds] of this.locks.get(name) ?? [])
      if (holder !== owner && (exclusive || holds.exclusive > 0)) return holder;
    return undefined;
  }

  private countLocks({ owner, exclusive, shared }: ResourceAllocation, change: 1 | -1): void {
    for (const name of exclusive) this.holdsOf(name, owner).exclusive += change;
    for (const name of shared) this.holdsOf(name, owner).shared += change;
    if (change === -1) for (const name of [...exclusive, ...shared]) this.forgetIfFree(name, owner);
  }

  private holdsOf(name: string, owner: string): { exclusive: number; shared: number } {
    const holders: LockHolds = this.locks.get(name) ?? new Map();
    this.locks.set(name, holders);
    const holds = holders.get(owner) ?? { exclusive: 0, shared: 0 };
    holders.set(owner, holds);
    return holds;
  }

  private forgetIfFree(name: string, owner: string): void {
    const holders = this.locks.get(name);
    const holds = holders?.get(owner);
    if (holders === undefined || holds === undefined || holds.exclusive + holds.shared > 0) return;
    holders.delete(owner);
    if (holders.size === 0) this.locks.delete(name);
  }
}
