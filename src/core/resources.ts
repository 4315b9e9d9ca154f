import { checkKnown } from './check-known.ts';
import { CONCURRENCY, type ResourceVector, SCALE } from './demand.ts';
import { VolleyError } from './errors.ts';
import { type LockHolder, LockTable } from './locks.ts';
import { checkNumber, checkObject, show } from './numbers.ts';
import { type ByResource, type NamedResources, ResourceNames } from './resource-names.ts';
import type { ResourceLimits } from './resource-table.ts';

/** The limits of all countable resources. Omitted ones stay unchanged. */
export interface CountableLimits extends ResourceLimits {
  /** How many executions may run at once. */
  readonly concurrency?: number;
  /** How much there is of each named resource. A new name declares it. */
  readonly resources?: NamedResources;
}

/** Usage and limit of one resource. */
export interface ResourceUsage {
  readonly used: number;
  readonly limit: number;
}

/** Usage and limit of each countable resource. */
export type ResourceUtilization = ByResource<ResourceUsage>;

const BUILT_IN = new ResourceNames().all;
const LIMITED: ReadonlySet<string> = new Set([...BUILT_IN, 'resources']);

/** Accounts for all resources: no limit is ever exceeded, and every grant is returned exactly. */
export class ResourceAccounts {
  readonly names = new ResourceNames();
  /** In thousandths, in the order of the names. */
  readonly limits: number[] = BUILT_IN.map(() => Number.POSITIVE_INFINITY);
  readonly used: number[] = BUILT_IN.map(() => 0);
  readonly locks: LockTable;

  constructor(limits: CountableLimits = {}, lockPromoted?: (holder: LockHolder) => void) {
    this.locks = new LockTable(lockPromoted);
    this.setLimits(limits);
  }

  /** Changes the given limits. Lowering one takes nothing from running executions. */
  setLimits(limits: CountableLimits): void {
    if (typeof limits !== 'object' || limits === null) {
      throw new VolleyError(
        'INVALID_VALUE',
        `limits must be an object such as { cpu: 4 }, but it is ${show(limits)}.`,
      );
    }
    checkKnown('limit of a resource', limits, LIMITED);
    const { resources = {} } = limits;
    checkObject('resources', resources);
    const named = Object.entries(resources).filter(([, limit]) => limit !== undefined);
    this.names.checkNew(named.map(([name]) => name));
    const builtIn = BUILT_IN.map((name, index) => {
      const limit = limits[name as keyof ResourceLimits];
      return limit === undefined
        ? this.limits[index]!
        : scaledLimit(`limits.${name}`, limit, index === CONCURRENCY);
    });
    const checked = named.map(([name, limit]) => scaledLimit(`resources.${name}`, limit, false));
    for (let index = 0; index < builtIn.length; index++) this.limits[index] = builtIn[index]!;
    for (const [at, [name]] of named.entries()) {
      const index = this.names.declare(name);
      if (index === this.used.length) this.used.push(0);
      this.limits[index] = checked[at]!;
    }
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
      const resource = this.names.all[index]!;
      const setting = `${this.names.named.has(resource) ? 'resources' : 'limits'}.${resource}`;
      const who =
        of.id === undefined ? `An execution of ${show(of.toolName)}` : `The execution ${show(of.id)}`;
      const demand = needs[index]! / SCALE;
      const limit = this.limits[index]! / SCALE;
      throw new VolleyError(
        'IMPOSSIBLE_DEMAND',
        `${who} needs ${demand} ${resource}, but the limit is ${limit}: lower the demand or raise ${setting}.`,
        { resource, demand, limit },
      );
    }
  }

  /** The current usage and limit of each countable resource. */
  utilization(): ResourceUtilization {
    return this.names.byResource((index) => ({
      used: this.used[index]! / SCALE,
      limit: this.limits[index]! / SCALE,
    }));
  }
}

/** Rounded like the demands, or a demand that equals the limit might not fit. */
function scaledLimit(name: string, limit: unknown, isSlots: boolean): number {
  const rules = { min: isSlots ? 1 : 0, max: 1e12, integer: isSlots, allowInfinity: true };
  return Math.round(checkNumber(name, limit, rules) * SCALE);
}
