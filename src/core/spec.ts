import { checkKnown } from './check-known.ts';
import type { ResourceRequirements } from './demand.ts';
import type { Execution } from './execution.ts';
import type { Labels } from './labels.ts';
import { checkBoolean, checkObject } from './numbers.ts';
import type { Priority } from './priority.ts';
import type { RetryOptions } from './retry.ts';
import type { DependencyPolicy } from './terms.ts';

/** An execution as the caller specifies it; `docs/engine.md` lists the defaults. */
export interface ExecutionSpec {
  /** The caller's name for it, unique among unsettled and recently settled executions. */
  readonly id?: string;
  readonly toolName: string;
  /** Default normal. */
  readonly priority?: Priority;
  readonly resources?: ResourceRequirements;
  /** Tools that must not run at the same time as this one. */
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
  /** The expected duration, if the caller knows better than what was learned about the tool. */
  readonly estimatedMs?: number;
  /**
   * Whether cpu and memory that it does not claim follow what attempts of its tool were measured to use. Default false.
   */
  readonly learnUsage?: boolean;
  /** Whether it may be retried after a crash that left its progress unknown. Default false. */
  readonly idempotent?: boolean;
  /** The labels of the workers on which it may run. Default: any. Without workers it has no effect. */
  readonly on?: Labels;
  /**
   * The quota of an outside service that its attempts use. While it is used up, executions with the same quota wait. With
   * several, one that is open is enough: each failed attempt prefers the next. Default: the name of its tool.
   */
  readonly quota?: string | readonly string[];
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
  'learnUsage',
  'idempotent',
  'on',
  'quota',
] satisfies (keyof ExecutionSpec)[];

/** Options of a group of executions. */
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

/** Checks everything but the limits. */
export function checkGroupSpec(spec: GroupSpec): void {
  checkObject('The options of a group', spec);
  checkKnown('option of a group', spec, GROUP_OPTIONS);
  if (spec.failFast !== undefined) checkBoolean('failFast', spec.failFast);
}
