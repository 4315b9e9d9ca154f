import { checkKnown } from './check-known.ts';
import type { ResourceRequirements } from './demand.ts';
import type { Execution } from './execution.ts';
import { checkBoolean, checkObject } from './numbers.ts';
import type { Priority } from './priority.ts';
import type { RetryOptions } from './retry.ts';
import type { DependencyPolicy } from './terms.ts';

/** What a caller says of an execution; the defaults are those of `docs/engine.md`. */
export interface ExecutionSpec {
  /** A name of the caller's own, unique among what is unsettled or recently settled. */
  readonly id?: string;
  readonly toolName: string;
  /** Default normal. */
  readonly priority?: Priority;
  readonly resources?: ResourceRequirements;
  /** Tools that must not run while this one does, and the other way round. */
  readonly conflictsWith?: readonly string[];
  /** The group it belongs to. */
  readonly group?: string;
  readonly dependsOn?: readonly (string | Execution)[];
  /** Default skip. */
  readonly onDependencyFailure?: DependencyPolicy;
  readonly retry?: RetryOptions;
  /** How long one attempt may take, from its start. Default 300000; Infinity for no limit. */
  readonly timeoutMs?: number;
  /** How long the execution may take in all, from its submission. Default none. */
  readonly deadlineMs?: number;
  /** How long an attempt may go without reporting progress. Default none. */
  readonly stallMs?: number;
  /** What it is expected to take, where the caller knows better than what was learned of the tool. */
  readonly estimatedMs?: number;
  /** Whether it may be tried again after a crash of which nobody knows how far it had come. Default false. */
  readonly idempotent?: boolean;
}

export const EXECUTION_FIELDS: readonly string[] = [
  'id',
  'toolName',
  'priority',
  'resources',
  'conflictsWith',
  'group',
  'dependsOn',
  'onDependencyFailure',
  'retry',
  'timeoutMs',
  'deadlineMs',
  'stallMs',
  'estimatedMs',
  'idempotent',
] satisfies (keyof ExecutionSpec)[];

/** How a group of executions is run. */
export interface GroupSpec {
  readonly name?: string;
  readonly maxConcurrency?: number;
  readonly rate?: { readonly count: number; readonly perMs: number } | null;
  /** Whether the first failure cancels the rest of the group. Default false. */
  readonly failFast?: boolean;
  /** How long the whole group may take, from its submission. */
  readonly timeoutMs?: number;
}

const GROUP_OPTIONS: ReadonlySet<string> = new Set<keyof GroupSpec>([
  'name',
  'maxConcurrency',
  'rate',
  'failFast',
  'timeoutMs',
]);

/** Checks all of it but the limits. */
export function checkGroupSpec(spec: GroupSpec): void {
  checkObject('The options of a group', spec);
  checkKnown('option of a group', spec, GROUP_OPTIONS);
  if (spec.failFast !== undefined) checkBoolean('failFast', spec.failFast);
}
