import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import type { FailureReason } from '../core/failure.ts';
import { checkLabels, type Labels } from '../core/labels.ts';
import { nearest } from '../core/nearest.ts';
import { show } from '../core/numbers.ts';
import type { Priority } from '../core/priority.ts';
import type { RetryOptions } from '../core/retry.ts';
import type { DependencyPolicy } from '../core/terms.ts';
import type { LimitReport, OutageReport } from '../engine/tool-failure.ts';

/** How many characters the id of a call may have. */
export const MAX_CALL_ID_LENGTH = 128;

/** One call of a tool. What is left out is as the tool or the configuration says. */
export interface ToolCall {
  readonly id?: string;
  readonly name: string;
  /** May hold references to the results of other calls. */
  readonly arguments?: unknown;
  /**
   * Why there are no arguments to speak of, such as `not valid JSON: …`: a provider sent what cannot be read. The call
   * fails with this text and is never started, and the others go on.
   */
  readonly invalid?: string;
  /** Ids of calls that must settle first, besides those that the arguments refer to. */
  readonly dependsOn?: readonly string[];
  readonly onDependencyFailure?: DependencyPolicy;
  readonly priority?: Priority;
  readonly timeoutMs?: number;
  readonly stallMs?: number;
  readonly deadlineMs?: number;
  readonly retry?: RetryOptions;
  readonly resources?: ResourceRequirements;
  /** The labels of the workers on which it may run, such as `{ gpu: true }`. Without workers it has no effect. */
  readonly on?: Labels;
}

interface CallResultBase {
  readonly id: string;
  readonly name: string;
  /** How many attempts were started. */
  readonly attempts: number;
  readonly waitedMs: number;
  readonly durationMs: number;
  /** The id of the identical call whose result this is. */
  readonly sharedWith?: string;
  /** Whether its result came from the cache. */
  readonly cached?: true;
  /** Possible mistakes in its arguments, such as a placeholder that is not a reference. */
  readonly warnings?: readonly string[];
}

/** What can leave the process of an error: redacted, bounded. */
export interface CallError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  /** What it says of a quota that is used up, or of a reason that other calls share. */
  readonly limit?: LimitReport;
  readonly outage?: OutageReport;
}

/** How a call ended. */
export type CallResult<T = unknown> = CallResultBase &
  (
    | { readonly status: 'completed'; readonly value: T }
    | { readonly status: 'failed'; readonly reason: FailureReason; readonly error: CallError }
    | { readonly status: 'cancelled'; readonly reason: string }
    | {
        readonly status: 'skipped';
        /** The id of the call that is the root cause. */
        readonly cause: string | undefined;
      }
  );

const MAX_CALLS = 100_000;
const FIELDS = new Set<string>(
  `id name arguments invalid dependsOn onDependencyFailure priority timeoutMs stallMs deadlineMs retry
  resources on`.split(/\s+/),
);

/** A copy of the list, for the caller may go on with his own while it is looked at. Throws if it is none of calls. */
export function checkedList(calls: readonly ToolCall[]): ToolCall[] {
  if (!Array.isArray(calls)) throw invalid(`The calls must be a list, but they are ${show(calls)}`);
  if (calls.length > MAX_CALLS)
    throw invalid(`There are ${calls.length} calls, but at most ${MAX_CALLS} fit in one list`);
  const list = [...calls];
  for (const [index, call] of list.entries()) checkShape(call, index);
  return list;
}

/** The given ids, and names for the calls that have none. */
export function callIds(calls: readonly ToolCall[]): string[] {
  const given = new Set<string>();
  for (const { id } of calls) {
    if (id === undefined) continue;
    if (given.has(id)) {
      throw new VolleyError('DUPLICATE_ID', `Two calls have the id ${show(id)}: give each its own.`, { id });
    }
    given.add(id);
  }
  return calls.map(({ id }, index) => id ?? freeId(index + 1, given));
}

/** The dependencies that a call names, all of which must be known. */
export function checkDependsOn(
  id: string,
  dependsOn: unknown,
  known: ReadonlySet<string>,
): readonly string[] {
  if (dependsOn === undefined) return [];
  if (!Array.isArray(dependsOn))
    throw invalid(`dependsOn of ${id} must be a list of ids, but it is ${show(dependsOn)}`);
  for (const dependency of dependsOn) {
    if (known.has(dependency)) continue;
    const close = typeof dependency === 'string' ? nearest(dependency, known) : undefined;
    throw new VolleyError(
      'UNKNOWN_DEPENDENCY',
      `${id} depends on ${show(dependency)}, but no call in the list has this id${close === undefined ? '' : `; did you mean ${show(close)}?`}`,
      { id, dependency },
    );
  }
  return dependsOn;
}

function freeId(number: number, given: ReadonlySet<string>): string {
  let id = `call-${number}`;
  while (given.has(id)) id += "'";
  return id;
}

function checkShape(call: unknown, index: number): asserts call is ToolCall {
  const which = `Call ${index + 1}`;
  if (typeof call !== 'object' || call === null || Array.isArray(call))
    throw invalid(
      `${which} must be an object such as { name: "read_file", arguments: { … } }, but it is ${show(call)}`,
    );
  const { id, name } = call as ToolCall;
  if (typeof name !== 'string' || name === '')
    throw invalid(`${which} has no tool name: its name is ${show(name)}`);
  if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > MAX_CALL_ID_LENGTH))
    throw invalid(
      `The id of call ${index + 1} (${name}) must be a string of 1 to ${MAX_CALL_ID_LENGTH} characters, but it is ${show(id)}`,
    );
  const { on } = call as ToolCall;
  if (on !== undefined) checkLabels(`on of ${which}`, on);
  for (const field of Object.keys(call)) {
    if (FIELDS.has(field)) continue;
    const close = nearest(field, FIELDS);
    throw invalid(
      `${which} (${name}) has a field "${field}" that calls do not have${close === undefined ? '' : `; did you mean "${close}"?`}`,
    );
  }
}

function invalid(message: string): VolleyError {
  return new VolleyError('INVALID_CALL', `${message}.`);
}
