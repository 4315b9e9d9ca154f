import type { CallDefaults } from '../config/config.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import type { Priority } from '../core/priority.ts';
import type { RetryOptions } from '../core/retry.ts';
import { reasonText } from '../core/words.ts';
import { saidNeeds } from '../tools/needs.ts';
import type { Tool } from '../tools/tool.ts';
import type { ToolCall } from './call.ts';

const NO_RETRIES: RetryOptions = { maxRetries: 0 };

/** What the engine is told of a call, apart from its needs and its place among others. */
export interface CallSpec {
  readonly toolName: string;
  readonly priority: Priority;
  readonly timeoutMs: number;
  readonly retry: RetryOptions;
  readonly idempotent: boolean;
  readonly conflictsWith: readonly string[];
  readonly stallMs: number | undefined;
  readonly deadlineMs: number | undefined;
}

/** Of calls that say nothing of their own, by the list of conflicts, which is one for each tool of a registry. */
const plainSpecs = new WeakMap<readonly string[], CallSpec>();

/** The call's own word goes before the tool's, and that before the defaults. */
export function specOf(
  call: ToolCall,
  tool: Tool,
  conflictsWith: readonly string[],
  defaults: CallDefaults,
): CallSpec {
  if (call.retry !== undefined) checkObject('retry', call.retry, '{ maxRetries: 3 }');
  const { retry, priority, timeoutMs, stallMs, deadlineMs } = call;
  if ((retry ?? priority ?? timeoutMs ?? stallMs ?? deadlineMs) !== undefined)
    return makeSpec(call, tool, conflictsWith, defaults);
  let plain = plainSpecs.get(conflictsWith);
  if (plain === undefined) {
    plain = makeSpec(call, tool, conflictsWith, defaults);
    plainSpecs.set(conflictsWith, plain);
  }
  return plain;
}

function makeSpec(
  call: ToolCall,
  tool: Tool,
  conflictsWith: readonly string[],
  defaults: CallDefaults,
): CallSpec {
  return {
    toolName: tool.limitedAs ?? tool.name,
    priority: call.priority ?? tool.priority ?? defaults.priority,
    timeoutMs: call.timeoutMs ?? tool.timeoutMs ?? defaults.timeoutMs,
    retry: retriesOf(call, tool, defaults),
    idempotent: tool.idempotent,
    conflictsWith,
    stallMs: call.stallMs ?? tool.stallMs,
    deadlineMs: call.deadlineMs,
  };
}

function retriesOf(call: ToolCall, tool: Tool, defaults: CallDefaults): RetryOptions {
  if (tool.unrepeatable) return NO_RETRIES;
  if (call.retry === undefined && tool.retry === undefined) return defaults.retry;
  return { ...defaults.retry, ...tool.retry, ...call.retry };
}

/** What a call needs: a call may change the amounts, but never drop the locks that its tool takes. */
export function needsOf(call: ToolCall, tool: Tool, input: unknown): ResourceRequirements {
  const own = typeof tool.resources === 'function' ? needsFrom(tool, input) : (tool.resources ?? {});
  const { resources } = call;
  if (resources === undefined) return own;
  checkObject('resources', resources, '{ cpu: 0.5 }');
  return {
    ...own,
    ...resources,
    ...joined('exclusive', own, resources),
    ...joined('shared', own, resources),
  };
}

function joined(
  field: 'exclusive' | 'shared',
  own: ResourceRequirements,
  given: ResourceRequirements,
): object {
  const [first, second] = [own[field], given[field]];
  // What is no list stays as it is, for the engine to refuse.
  if (!Array.isArray(first) || !Array.isArray(second))
    return first === undefined || second !== undefined ? {} : { [field]: first };
  return { [field]: [...new Set([...first, ...second])] };
}

function needsFrom(tool: Tool, input: unknown): ResourceRequirements {
  let said: unknown;
  try {
    said = (tool.resources as (input: unknown) => unknown)(input);
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    throw new VolleyError(
      'INVALID_TOOL',
      `The resources of ${tool.name} could not be told from its input: ${reasonText(error)}`,
    );
  }
  return saidNeeds(tool.name, said);
}

/** Spreading would take anything, and make nothing of it. */
function checkObject(field: string, value: unknown, example: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `${field} of a call must be an object such as ${example}, but it is ${show(value)}.`,
  );
}
