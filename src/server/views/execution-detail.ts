import type { Redactor } from '../../coordinator/redactor.ts';
import { VolleyError } from '../../core/errors.ts';
import type { ServerParts } from '../parts.ts';
import type { ExecutionDetailBody } from '../wire/execution.ts';
import { attemptList } from './attempts.ts';
import { executionBody } from './execution-body.ts';

/** Everything about one execution, with the beginning of its result. */
export async function executionDetail(
  parts: ServerParts,
  batch: string,
  id: string,
): Promise<ExecutionDetailBody> {
  const { executor, store, coordinator } = parts;
  const explanation = (await executor.explain(batch, id)) ?? null;
  const record = await store.task(batch, id);
  if (record === undefined)
    throw new VolleyError('UNKNOWN_TASK', `The task ${JSON.stringify(id)} was cleared.`, { batch, id });
  const { options } = record;
  return {
    ...executionBody(record, executor),
    params: shownParams(record.params, coordinator.desk.redactor),
    timeout_ms: options.timeoutMs ?? null,
    max_retries: options.maxRetries ?? null,
    on_dependency_failure: options.onDependencyFailure ?? 'skip',
    attempt_list: await attemptList(store, record),
    explanation,
    warnings: [...(options.warnings ?? [])],
    result_bytes: record.resultBytes ?? null,
    result_preview: record.preview ?? null,
  };
}

/** Without secrets; as text where that, or its length, has broken the JSON. */
function shownParams(json: string, redactor: Redactor): unknown {
  const text = redactor.text(json);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
