import { join } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { withFolderLock } from '../../store/folder-lock.ts';
import { batchNameOf } from './feature.ts';

/** A run that was just killed loses its lock within this time; a live one keeps it. */
const RUN_WAIT_MS = 300;

/** Keeps others from running a feature, or from removing its worktrees, during `work`. */
export async function withRunLock<T>(
  tasks: { readonly path: string },
  feature: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await withFolderLock(join(tasks.path, feature), work, RUN_WAIT_MS);
  } catch (error) {
    if (!(error instanceof VolleyError && error.code === 'TASKS_LOCKED' && 'pid' in error.details))
      throw error;
    const { pid } = error.details;
    const who = pid === undefined ? 'another process' : `process ${pid}`;
    const message = `${feature} is being run by ${who}. Follow it with volley watch --batch ${batchNameOf(feature)}, or wait until it ends.`;
    throw new VolleyError('FEATURE_RUNNING', message, { feature, pid });
  }
}
