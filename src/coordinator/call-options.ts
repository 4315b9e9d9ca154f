import type { CallDefaults } from '../config/config.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import type { Priority } from '../core/priority.ts';
import type { RetryOptions } from '../core/retry.ts';
import { isObject } from '../core/values.ts';
import { reasonText } from '../core/words.ts';
import { checkNeeds } from '../tools/needs.ts';
import type { Tool } from '../tools/tool.ts';
import type { ToolCall } from './call.ts';

const NO_RETRIES: RetryOptions = { maxRetries: 0 };

/** How the engine treats a call: all but its needs and its place among others. */
export interface CallOptions {
  readonly toolName: string;
  readonly priority: Priority;
  readonly timeoutMs: number;
  readonly retry: RetryOptions;
  readonly idempotent: boolean;
  readonly conflictsWith: readonly string[];
  readonly stallMs: number | undefined;
  readonly deadlineMs: number | undefined;
  readonly quota: string | readonly string[] | undefined;
}

/** For calls without options of their own. The key is the list of conflicts: a registry keeps one for each tool. */
const toolOptions = new WeakMap<readonly string[], CallOptions>();

/** The options of the call win over those of its tool, and these over the defaults. */
export function resolveOptions(
  call: ToolCall,
  tool: Tool,
  conflictsWith: readonly string[],
  defaults: CallDefaults,
): CallOptions {
  if (call.retry !== undefined) checkObject('retry', call.retry, '{ maxRetries: 3 }');
  const { retry, priority, timeoutMs, stallMs, deadlineMs } = call;
  if ((retry ?? priority ?? timeoutMs ?? stallMs ?? deadlineMs) !== undefined)
    return mergeOptions(call, tool, conflictsWith, defaults);
  let options = toolOptions.get(conflictsWith);
  if (options === undefined) {
    options = mergeOptions(call, tool, conflictsWith, defaults);
    toolOptions.set(conflictsWith, options);
  }
  return options;
}

function mergeOptions(
  call: ToolCall,
  tool: Tool,
  conflictsWith: readonly string[],
  defaults: CallDefaults,
): CallOptions {
  return {
    toolName: tool.limitedAs ?? tool.name,
    priority: call.priority ?? tool.priority ?? defaults.priority,
    timeoutMs: call.timeoutMs ?? tool.timeoutMs ?? defaults.timeoutMs,
    retry: mergeRetries(call, tool, defaults),
    idempotent: tool.idempotent,
    conflictsWith,
    stallMs: call.stallMs ?? tool.stallMs,
    deadlineMs: call.deadlineMs,
    quota: typeof tool.quota === 'function' ? undefined : tool.quota,
  };
}

function mergeRetries(call: ToolCall, tool: Tool, defaults: CallDefaults): RetryOptions {
  if (tool.unrepeatable) return NO_RETRIES;
  if (call.retry === undefined && tool.retry === undefined) return defaults.retry;
  return { ...defaults.retry, ...tool.retry, ...call.retry };
}

/** A call may change the amounts that its tool needs, but never drop the locks that the tool takes. */
export function resolveNeeds(call: ToolCall, tool: Tool, input: unknown): ResourceRequirements {
  const own = typeof tool.resources === 'function' ? computeNeeds(tool, input) : (tool.resources ?? {});
  const { resources } = call;
  if (resources === undefined) return own;
  checkObject('resources', resources, '{ cpu: 0.5 }');
  return {
    ...own,
    ...resources,
    ...joinLocks('exclusive', own, resources),
    ...joinLocks('shared', own, resources),
  };
}

function joinLocks(
  field: 'exclusive' | 'shared',
  own: ResourceRequirements,
  given: ResourceRequirements,
): object {
  const [first, second] = [own[field], given[field]];
  // The engine refuses what is not a list.
  if (!Array.isArray(first) || !Array.isArray(second))
    return first === undefined || second !== undefined ? {} : { [field]: first };
  return { [field]: [...new Set([...first, ...second])] };
}

/** The options of a call whose input is known. */
export function withQuota(options: CallOptions, { name, quota }: Tool, input: unknown): CallOptions {
  if (typeof quota !== 'function') return options;
  try {
    return { ...options, quota: quota(input) };
  } catch (error) {
    throw new VolleyError(
      'INVALID_TOOL',
      `The quota of ${name} could not be computed from its input: ${reasonText(error)}`,
    );
  }
}

function computeNeeds(tool: Tool, input: unknown): ResourceRequirements {
  let said: unknown;
  try {
    said = (tool.resources as (input: unknown) => unknown)(input);
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    throw new VolleyError(
      'INVALID_TOOL',
      `The resources of ${tool.name} could not be computed from its input: ${reasonText(error)}`,
    );
  }
  return checkNeeds(tool.name, said);
}

/** Spreading a value that is not an object would silently drop it. */
function checkObject(field: string, value: unknown, example: string): void {
  if (isObject(value)) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `${field} of a call must be an object such as ${example}, but it is ${show(value)}.`,
  );
}

/** Names the executions that wait for the child that does the work of a call. */
export const PREPARING = 'prepare ';

/** For such an execution: limits, conflicts and retries belong to the child. */
export function preparing(options: CallOptions): CallOptions {
  return {
    ...options,
    toolName: `${PREPARING}${options.toolName}`,
    conflictsWith: [],
    timeoutMs: Number.POSITIVE_INFINITY,
    stallMs: undefined,
    retry: NO_RETRIES,
    quota: undefined,
  };
}
