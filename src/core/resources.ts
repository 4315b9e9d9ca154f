import { checkKnown } from './check-known.ts';
import { CONCURRENCY, RESOURCE_NAMES, type ResourceName, type ResourceVector, SCALE } from './demand.ts';
import { VolleyError } from './errors.ts';
import { type LockHolder, LockTable } from './locks.ts';
import { checkNumber, show } from './numbers.ts';
import type { ResourceLimits } from './resource-table.ts';

/** The resource limits plus the number of executions that may run at once. */
type Limits = ResourceLimits & { readonly concurrency?: number };

/** Usage and limit of one resource. */
export interface ResourceUsage {
  readonly used: number;
  readonly limit: number;
}

/** Usage and limit of each countable resource. */
export type ResourceUtilization = Readonly<Record<ResourceName, ResourceUsage>>;

export function byResource<T>(valueAt: (index: number) => T): Record<ResourceName, T> {
  return Object.fromEntries(RESOURCE_NAMES.map((name, index) => [name, valueAt(index)])) as Record<
    ResourceName,
    T
  >;
}

const LIMITED: ReadonlySet<string> = new Set(RESOURCE_NAMES);

/** Accounts for all resources: no limit is ever exceeded, and every grant is returned exactly. */
export class ResourceAccounts {
  /** In thousandths, in the order of RESOURCE_NAMES. */
  readonly limits: number[] = RESOURCE_NAMES.map(() => Number.POSITIVE_INFINITY);
  readonly used: number[] = RESOURCE_NAMES.map(() => 0);
  readonly locks: LockTable;

  constructor(limits: Limits = {}, lockPromoted?: (holder: LockHolder) => void) {
    this.locks = new LockTable(lockPromoted);
    this.setLimits(limits);
  }

  /** Changes the given limits. Lowering one takes nothing from running executions. */
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
      // Rounded like the demands, or a demand that equals the limit might not fit.
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

  /** The index of the first resource that is short, or -1 if everything fits. */
  shortage(needs: ResourceVector): number {
    const { limits, used } = this;
    for (let index = 0; index < needs.length; index++) {
      const need = needs[index]!;
      if (need > 0 && used[index]! + need > limits[index]!) return index;
    }
    return -1;
  }

  take(needs: ResourceVector): void {
    const used = this.used;
    for (let index = 0; index < needs.length; index++) used[index]! += needs[index]!;
  }

  giveBack(needs: ResourceVector): void {
    const used = this.used;
    for (let index = 0; index < needs.length; index++) used[index]! -= needs[index]!;
  }

  hasSlot(): boolean {
    return this.used[CONCURRENCY]! + SCALE <= this.limits[CONCURRENCY]!;
  }

  /** Rejects a demand that can never be satisfied. */
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

  /** The current usage and limit of each countable resource. */
  utilization(): ResourceUtilization {
    return byResource((index) => ({ used: this.used[index]! / SCALE, limit: this.limits[index]! / SCALE }));
  }
}
