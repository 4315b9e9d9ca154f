import { z } from '@hono/zod-openapi';
import { PARAMS, PRIORITY, RESOURCE_FIELDS, TASK_ID, toRequirements } from '../../batch/input/fields.ts';
import type { CallResult, ToolCall } from '../../coordinator/call.ts';
import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { withoutUndefined } from '../../core/values.ts';
import { unwritableText } from '../../core/words.ts';

const MAX_CALLS = 10_000;
const SPAN_MS = z.number().positive().max(MAX_SPAN_MS);

const CALL = z
  .strictObject({
    id: TASK_ID.optional().describe('Unique among the calls. Default: one is chosen.'),
    name: z.string().min(1).max(128).describe('The tool.'),
    arguments: PARAMS.optional().describe('May refer to results of other calls, as in a batch.'),
    depends_on: z.array(TASK_ID).max(10_000).optional(),
    on_dependency_failure: z.enum(['skip', 'run', 'on-failure']).optional(),
    priority: PRIORITY.optional(),
    timeout_ms: SPAN_MS.optional().describe('For one attempt.'),
    max_retries: z.int().min(0).max(1000).optional(),
    resources: RESOURCE_FIELDS.optional(),
  })
  .openapi('Call');

/** Calls that are run at once and kept nowhere. */
export const EXECUTE = z
  .strictObject({
    calls: z.array(CALL).min(1).max(MAX_CALLS),
    fail_fast: z.boolean().optional().describe('Whether the first failure cancels the rest.'),
    max_concurrent: z.int().min(1).max(10_000).optional(),
    timeout_ms: SPAN_MS.optional().describe('For all of them.'),
  })
  .openapi('Execute');

export const CALL_RESULT = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['completed', 'failed', 'cancelled', 'skipped']),
    attempts: z.int(),
    waited_ms: z.number(),
    duration_ms: z.number(),
    shared_with: z.string().optional().describe('The identical call whose result this is.'),
    cached: z.boolean().optional().describe('Whether the result came from the cache.'),
    warnings: z.array(z.string()).optional().describe('Possible mistakes in its arguments.'),
    value: z.unknown().optional().describe('If it completed.'),
    reason: z.string().optional().describe('If it failed or was cancelled.'),
    error: z.object({ name: z.string(), message: z.string(), code: z.string().optional() }).optional(),
    cause: z.string().optional().describe('If it was skipped: the call that caused it.'),
  })
  .openapi('CallResult');

type CallResultBody = z.output<typeof CALL_RESULT>;

export function toCall(call: z.output<typeof CALL>): ToolCall {
  const { id, name, priority, resources, depends_on, on_dependency_failure, timeout_ms, max_retries } = call;
  return withoutUndefined({
    id,
    name,
    arguments: call.arguments ?? {},
    priority,
    dependsOn: depends_on,
    onDependencyFailure: on_dependency_failure,
    timeoutMs: timeout_ms,
    retry: max_retries === undefined ? undefined : { maxRetries: max_retries },
    resources: resources === undefined ? undefined : toRequirements(resources),
  }) as unknown as ToolCall;
}

function callResultBody(result: CallResult): CallResultBody {
  const { id, name, status, attempts, waitedMs, durationMs, sharedWith } = result;
  const base = { id, name, status, attempts, waited_ms: waitedMs, duration_ms: durationMs };
  const shared = {
    ...(sharedWith !== undefined && { shared_with: sharedWith }),
    ...(result.cached && { cached: true }),
    ...(result.warnings !== undefined && { warnings: [...result.warnings] }),
  };
  switch (result.status) {
    case 'completed':
      return { ...base, ...shared, value: result.value ?? null };
    case 'failed': {
      const { name: kind, message, code } = result.error;
      const error = { name: kind, message, ...(code !== undefined && { code }) };
      return { ...base, ...shared, reason: result.reason, error };
    }
    case 'cancelled':
      return { ...base, ...shared, reason: result.reason };
    case 'skipped':
      return { ...base, ...shared, ...(result.cause !== undefined && { cause: result.cause }) };
  }
}

/** The same as JSON. One whose value cannot be written down has failed, and the others are none the worse for it. */
export function callResultText(result: CallResult): string {
  try {
    return JSON.stringify(callResultBody(result));
  } catch (thrown) {
    const message = `The result of ${result.id} (${result.name}) cannot be written as JSON: ${unwritableText(thrown)}. Return plain data.`;
    const error = { name: 'VolleyError', message, code: 'UNSERIALISABLE_RESULT' };
    return JSON.stringify(callResultBody({ ...result, status: 'failed', reason: 'error', error }));
  }
}
