import { batchPath, post } from '../api/http.ts';
import { state } from '../store/store.ts';

/** Opens tasks again, all that did not succeed or the given ones, and runs them: somebody who retries wants just that. */
export async function retry(batch: string, ids?: readonly string[]): Promise<void> {
  const isIdle = state.value.batches.get(batch)?.state === 'idle';
  await post(`${batchPath(batch)}/retry`, ids === undefined ? {} : { ids });
  if (isIdle) await post(`${batchPath(batch)}/start`);
}
