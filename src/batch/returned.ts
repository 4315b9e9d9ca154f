import { COMPUTE, RUN_PROGRAM } from '../core/script-tools.ts';
import { bytesText } from '../core/words.ts';
import type { Store } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import { PROGRAM_ID, RETURN_ID } from './input/fields.ts';
import { beginOfResult } from './result-row.ts';
import { linesText, oneLine } from './text.ts';

/** A larger value is not part of an answer. */
const MAX_BYTES = 2 ** 20;
const MAX_SHOWN = 2000;

/**
 * What a batch returned, as text and as fields of an answer. Undefined if it has neither a `return` nor a program, or has
 * not come to it.
 */
export async function returnedBy(
  store: Pick<Store, 'task' | 'result'>,
  batch: string,
  maxChars = MAX_SHOWN,
): Promise<ActionResult | undefined> {
  const task = (await store.task(batch, RETURN_ID)) ?? (await store.task(batch, PROGRAM_ID));
  if (task?.function !== COMPUTE && task?.function !== RUN_PROGRAM) return undefined;
  const { id, status, resultBytes = 0, message, cause } = task;
  if (status === 'open' || status === 'running') return undefined;
  if (status !== 'completed') {
    const why = message ?? (cause === undefined ? '' : `because of ${cause}`);
    return {
      text: `It returned nothing: "${id}" was ${status}${why === '' ? '' : `: ${oneLine(why, MAX_SHOWN)}`}`,
      data: {},
    };
  }
  if (resultBytes > MAX_BYTES) {
    const { text } = beginOfResult(task, MAX_SHOWN);
    return {
      text: `It returned ${bytesText(resultBytes)} (read them with "results" and the id "${id}"): ${oneLine(text, MAX_SHOWN)}`,
      data: { returned_preview: text, returned_bytes: resultBytes },
    };
  }
  const json = (await store.result(batch, id)) ?? 'null';
  return { text: `It returned: ${oneLine(json, maxChars)}`, data: { returned: JSON.parse(json) } };
}

/** Adds what a batch returned to an answer. */
export async function withReturned(
  store: Pick<Store, 'task' | 'result'>,
  batch: string,
  { text, data }: ActionResult,
): Promise<ActionResult> {
  const returned = await returnedBy(store, batch);
  if (returned === undefined) return { text, data };
  return { text: linesText(text, returned.text), data: { ...data, ...returned.data } };
}
