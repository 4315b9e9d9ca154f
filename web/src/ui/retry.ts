import { countText } from '../../../src/core/words.ts';
import { batchPath, post } from '../api/http.ts';
import type { Batch } from '../api/wire.ts';

interface RetryAnswer {
  readonly data: { readonly reopened: number; readonly state: Batch['state'] };
}

/**
 * Opens tasks again, all that did not succeed or the given ones, and runs them: somebody who retries wants just that.
 * Answers what came of it.
 */
export async function retry(batch: string, ids?: readonly string[]): Promise<string> {
  const body = ids === undefined ? {} : { ids };
  const { data } = await post<RetryAnswer>(`${batchPath(batch)}/retry`, body);
  if (data.reopened === 0) return 'There is nothing to try again.';
  const count = countText(data.reopened, 'task');
  if (data.state === 'stopping')
    return `${count} opened again. The batch is being stopped: start it afterwards.`;
  if (data.state === 'idle') await post(`${batchPath(batch)}/start`);
  return `${count} opened again, to run.`;
}
