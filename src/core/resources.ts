import { checkKnown } from './check-known.ts';
import {
  CONCURRENCY,
  neededAmounts,
  neededLocks,
  RESOURCE_NAMES,
  type ResourceName,
  type ResourceRequirements,
  type ResourceVector,
  SCALE,
} from './demand.ts';
import { VolleyError } from './errors.ts';
import { type LockClaim, type LockHolder, LockTable } from './locks.ts';
import { checkNumber, show } from './numbers.ts';
import type { ResourceLimits } from './resource-table.ts';

/** The limits with the number of executions that may run at once. */
type Limits = ResourceLimits & { readonly concurrency?: number };

/** Use and limit of one resource. */
export interface ResourceUsage {
  readonly used: number;
  readonly limit: number;
}

/** Use and limit of each countable resource. */
export type ResourceUtilization = Readonly<Record<ResourceName, ResourceUsage>>;

/** What {@link ResourceManager.tryAllocate} granted; hand it back to `release`. */
export interface ResourceAllocation {
  readonly owner: string;
  /** How much was taken of each resource. */
  readonly amounts: Readonly<Record<ResourceName, number>>;
}

/** Why an allocation was refused: the resource or the lock that was short. */
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

class Allocation implements ResourceAllocation, LockHolder {
  rank = 0;
  seq = 0;
  level = 0;
  home = undefined;
  place = -1;
  claims: LockClaim[] | undefined;
  readonly demand = this;

  constructor(
    readonly owner: string,
    readonly needs: ResourceVector,
  ) {}

  get amounts(): Record<ResourceName, number> {
    return byResource((index) => this.needs[index]! / SCALE);
  }
}

export function byResource<T>(valueAt: (index: number) => T): Record<ResourceName, T> {
  return Object.fromEntries(RESOURCE_NAMES.map((name, index) => [name, valueAt(index)])) as Record<
    ResourceName,
    T
  >;
}

const LIMITED: ReadonlySet<string> = new Set(RESOURCE_NAMES);

/**
 * The accounts of all resources: nothing is ever granted beyond a limit, and what was granted comes back exactly.
 * The scheduler uses it by vectors; `tryAllocate` and `release` are the same for callers who keep their own account.
 */
export class ResourceManager {
  /** In thousandths, in the order of RESOURCE_NAMES. @internal */
  readonly limits: number[] = RESOURCE_NAMES.map(() => Number.POSITIVE_INFINITY);
  /** @internal */
  readonly used: number[] = RESOURCE_NAMES.map(() => 0);
  /** @internal */
  readonly locks: LockTable;
  private readonly allocations = new Set<ResourceAllocation>();

  constructor(limits: Limits = {}, lockPromoted?: (holder: LockHolder) => void) {
    this.locks = new LockTable(lockPromoted);
    this.setLimits(limits);
  }

  /** Changes the limits that are named. Lowering one takes nothing away from what runs. */
  setLimits(limits: Limits): void {
    if (typeof limits !== 'object' || limits === null) {
      throw new VolleyError(
        'INVALID_VALUE',
        `limits must be an object such as { cpu: 4 }, but it is ${show(limits)}.`,
      );
    }
    checkKnown('limit of a resource', limits, LIMITED);
    const checked = RESOURCE_NAMES.map((name, index) => {
      const limit = limits[name];
      if (limit === undefined) return this.limits[index]!;
      const integer = index === CONCURRENCY;
      // Rounded like the demands, or a demand of just the limit might not fit.
      return Math.round(
        checkNumber(`limits.${name}`, limit, {
          min: integer ? 1 : 0,
          max: 1e12,
          integer,
          allowInfinity: true,
        }) * SCALE,
      );
    });
    for (let index = 0; index < checked.length; index++) this.limits[index] = checked[index]!;
  }

  /** The index of the first resource of which too little is free, or -1 if all fits. @internal */
  shortage(needs: ResourceVector): number {
    const { limits, used } = this;
    for (let index = 0; index < needs.length; index++) {
      const need = needs[index]!;
      if (need > 0 && used[index]! + need > limits[index]!) return index;
    }
    return -1;
  }

  /** @internal */
  take(needs: ResourceVector): void {
    const used = this.used;
    for (let index = 0; index < needs.length; index++) used[index]! += needs[index]!;
  }

  /** @internal */
  giveBack(needs: ResourceVector): void {
    const used = this.used;
    for (let index = 0; index < needs.length; index++) used[index]! -= needs[index]!;
  }

  /** @internal */
  hasSlot(): boolean {
    return this.used[CONCURRENCY]! + SCALE <= this.limits[CONCURRENCY]!;
  }

  /** Refuses a demand that no amount of waiting could satisfy. @internal */
  assertPossible(needs: ResourceVector, of: { readonly id?: string; readonly toolName: string }): void {
    for (let index = 0; index < needs.length; index++) {
      if (needs[index]! <= this.limits[index]!) continue;
      const resource = RESOURCE_NAMES[index]!;
      const who =
        of.id === undefined ? `An execution of ${show(of.toolName)}` : `The execution ${show(of.id)}`;
      const demand = needs[index]! / SCALE;
      const limit = this.limits[index]! / SCALE;
      throw new VolleyError(
        'IMPOSSIBLE_DEMAND',
        `${who} needs ${demand} ${resource}, but the limit is ${limit}: lower the demand or raise limits.${resource}.`,
        { resource, demand, limit },
      );
    }
  }

  /** Takes everything that is asked for, or nothing. */
  tryAllocate(owner: string, requirements: ResourceRequirements): AllocationResult {
    const needs = neededAmounts(requirements, []);
    const short = this.shortage(needs);
    if (short >= 0) {
      const free = Math.max(0, this.limits[short]! - this.used[short]!) / SCALE;
      return { granted: false, resource: RESOURCE_NAMES[short]!, needed: needs[short]! / SCALE, free };
    }
    const allocation = new Allocation(owner, needs);
    allocation.claims = this.locks.claim(neededLocks(requirements));
    const lock = this.locks.obstacle(allocation);
    if (lock !== undefined) {
      this.locks.forget(allocation);
      const holder = lock.exclusiveHolder ?? lock.sharedHolders.values().next().value;
      return { granted: false, lock: lock.name, heldBy: (holder as Allocation).owner };
    }
    this.take(needs);
    this.locks.take(allocation);
    this.allocations.add(allocation);
    return { granted: true, allocation };
  }

  /** Gives an allocation back. Giving it back twice is an error: somebody else may hold that room by now. */
  release(allocation: ResourceAllocation): void {
    if (!(allocation instanceof Allocation) || !this.allocations.delete(allocation)) {
      throw new VolleyError(
        'INVALID_VALUE',
        'release() was given an allocation that is not open: it may have been released before.',
      );
    }
    this.giveBack(allocation.needs);
    this.locks.release(allocation);
    this.locks.forget(allocation);
  }

  /** Use and limit of each countable resource at this moment. */
  utilization(): ResourceUtilization {
    return byResource((index) => ({ used: this.used[index]! / SCALE, limit: this.limits[index]! / SCALE }));
  }
}
