import { checkKnown } from './check-known.ts';
import type { ResourceVector } from './demand.ts';
import { DemandClass } from './demand-class.ts';
import { UnknownDuration } from './durations.ts';
import { VolleyError } from './errors.ts';
import { Group } from './group.ts';
import type { Labels } from './labels.ts';
import { checkNumber, checkObject, show } from './numbers.ts';
import { checkRate, RateLimit, type RateOptions } from './rate.ts';
import { ToolState } from './tool.ts';

/** Limits of one tool or one group. */
export interface SharedLimits {
  /** How many of its executions may run at once. */
  readonly maxConcurrency?: number;
  /** How many attempts may start per period. `null` removes the rate limit. */
  readonly rate?: RateOptions | null;
}

const SHARED_LIMITS: ReadonlySet<string> = new Set<keyof SharedLimits>(['maxConcurrency', 'rate']);
const NO_CONFLICTS: readonly ToolState[] = [];
/** How many tools are remembered with their learned durations, and how many idle classes per tool. */
const MAX_IDLE_TOOLS = 10_000;
const MAX_IDLE_CLASSES = 8;

/** Everything the scheduler knows by name: tools, groups, and the classes of equal demand between them. */
export class Catalog {
  readonly tools = new Map<string, ToolState>();
  readonly groups = new Map<string, Group>();
  /** The group of executions that name none. */
  readonly root = new Group('', 0);
  readonly unknown = new UnknownDuration();
  private lastGroupNumber = 0;

  /** `stepMs` is the allowance between two priorities. */
  constructor(private readonly stepMs: number) {}

  tool(name: string): ToolState {
    let tool = this.tools.get(name);
    if (tool === undefined) {
      tool = new ToolState(name, this.unknown);
      this.tools.set(name, tool);
    }
    return tool;
  }

  group(name: string | undefined, now: number): Group {
    if (name === undefined || name === '') return this.root;
    let group = this.groups.get(name);
    if (group === undefined) {
      group = new Group(name, now);
      this.groups.set(name, group);
    }
    return group;
  }

  /** A name no caller can pick by chance, so that an unnamed group never joins another. */
  unusedGroupName(): string {
    do this.lastGroupNumber++;
    while (this.groups.has(`group-${this.lastGroupNumber}`));
    return `group-${this.lastGroupNumber}`;
  }

  conflicts(names: readonly string[] | undefined): readonly ToolState[] {
    if (names === undefined || names.length === 0) return NO_CONFLICTS;
    return [...new Set(names)].sort().map((name) => this.tool(name));
  }

  demandClass(
    tool: ToolState,
    group: Group,
    needs: ResourceVector,
    conflicts: readonly ToolState[],
    learns = 0,
    on?: Labels,
    quotas?: readonly string[],
  ): DemandClass {
    for (const known of tool.classes)
      if (known.matches(group, needs, conflicts, learns, on, quotas)) return known;
    const made = new DemandClass(tool, group, [...needs], conflicts, this.stepMs, learns, on, quotas);
    tool.classes.push(made);
    group.classes.push(made);
    for (const other of conflicts) other.namedBy++;
    return made;
  }

  /** Drops what is no longer used, after the last execution of the class settled. */
  release(demand: DemandClass): void {
    const { tool, group } = demand;
    const isCrowded = this.tools.size > MAX_IDLE_TOOLS;
    // A class with conflicts would keep those tools alive, and itself if it is among them.
    const keepsOthers = isCrowded && demand.conflicts.length > 0;
    if (tool.classes.length > MAX_IDLE_CLASSES || keepsOthers) this.dropClass(demand);
    this.dropGroupIfIdle(group);
    if (isCrowded) this.dropToolIfIdle(tool);
  }

  /** A group ends with its last execution, unless limits were set for it by name. */
  dropGroupIfIdle(group: Group): void {
    if (group.unsettled > 0 || group.isPinned || group === this.root) return;
    for (const demand of [...group.classes]) this.dropClass(demand);
    if (this.groups.get(group.name) === group) this.groups.delete(group.name);
  }

  private dropClass(demand: DemandClass): void {
    // When a group is rejected, each member releases its class, and most share the same one.
    if (!removeFrom(demand.tool.classes, demand)) return;
    removeFrom(demand.group.classes, demand);
    for (const other of demand.conflicts) {
      other.namedBy--;
      if (this.tools.size > MAX_IDLE_TOOLS) this.dropToolIfIdle(other);
    }
  }

  private dropToolIfIdle(tool: ToolState): void {
    if (tool.unsettled > 0 || tool.running > 0 || tool.isPinned || tool.namedBy > 0) return;
    for (const demand of [...tool.classes]) this.dropClass(demand);
    this.tools.delete(tool.name);
    tool.durations.forget();
  }
}

function removeFrom<T>(list: T[], item: T): boolean {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}

/** Validated limits. `null` removes a rate, undefined leaves it. */
interface CheckedLimits {
  readonly maxConcurrency: number | undefined;
  readonly rate: RateOptions | null | undefined;
}

export function checkSharedLimits(owner: string, limits: SharedLimits): CheckedLimits {
  if (typeof limits !== 'object' || limits === null) {
    throw new VolleyError(
      'INVALID_VALUE',
      `The limits of ${owner} must be an object, but they are ${show(limits)}.`,
    );
  }
  const { maxConcurrency, rate } = limits;
  if (maxConcurrency !== undefined) {
    checkNumber(`maxConcurrency of ${owner}`, maxConcurrency, { min: 1, integer: true, allowInfinity: true });
  }
  return { maxConcurrency, rate: rate == null ? rate : checkRate(`rate of ${owner}`, rate) };
}

/** Returns the replaced rate limit; executions may still be waiting for it. */
export function applySharedLimits(
  target: ToolState | Group,
  { maxConcurrency, rate }: CheckedLimits,
): RateLimit | undefined {
  const replaced = target.rate;
  if (maxConcurrency !== undefined) target.maxConcurrency = maxConcurrency;
  if (rate === undefined) return undefined;
  target.rate =
    rate === null ? undefined : new RateLimit(`${target.kind} ${target.name}`, rate.count, rate.perMs);
  if (replaced !== undefined) target.rate?.continueFrom(replaced);
  return replaced;
}

/** Validates all limits before changing any. */
export function checkAllLimits<T extends ToolState | Group>(
  kind: string,
  limits: Readonly<Record<string, SharedLimits>> | undefined,
  find: (name: string) => T,
): { find: () => T; checked: CheckedLimits }[] {
  if (limits === undefined) return [];
  checkObject(`The limits of ${kind}s`, limits);
  if ('' in limits)
    throw new VolleyError('INVALID_VALUE', `The limits of a ${kind} need its name, but one is empty.`);
  return Object.entries(limits).map(([name, shared]) => {
    const checked = checkSharedLimits(`${kind} ${name}`, shared);
    checkKnown(`limit of a ${kind}`, shared, SHARED_LIMITS);
    return { find: () => find(name), checked };
  });
}
