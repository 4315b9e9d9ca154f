import { countText } from '../../../src/core/words.ts';
import { ApiError, batchPath, post } from '../api/http.ts';
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
  let data: RetryAnswer['data'];
  try {
    ({ data } = await post<RetryAnswer>(`${batchPath(batch)}/retry`, body));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'FEATURE_BATCH') return runFeature(batch, ids);
    throw error;
  }
  if (data.reopened === 0) return 'There is nothing to try again.';
  const count = countText(data.reopened, 'task');
  if (data.state === 'stopping')
    return `${count} opened again. The batch is being stopped: start it afterwards.`;
  if (data.state === 'idle') await post(`${batchPath(batch)}/start`);
  return `${count} opened again, to run.`;
}

/** The batch is the run of a feature, which decides itself what is left to do. */
async function runFeature(batch: string, subtasks?: readonly string[]): Promise<string> {
  const feature = batch.replace(/^feature-/, '');
  await post(`features/${encodeURIComponent(feature)}/run`, subtasks === undefined ? {} : { subtasks });
  return `${feature} runs again.`;
}
