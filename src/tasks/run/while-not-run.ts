import { join } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { withFolderLock } from '../files/folder-lock.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { batchNameOf } from './batch-name.ts';

/** A run that has just been killed is gone in no time; one that lives keeps its lock. */
const PATIENCE_MS = 300;

/** Two runs of one feature would get in each other's way, and so would whoever removes their worktrees. */
export async function whileNotRun<T>(
  folder: TaskFolder,
  feature: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await withFolderLock(join(folder.path, feature), work, PATIENCE_MS);
  } catch (error) {
    if (!(error instanceof VolleyError && error.code === 'TASKS_LOCKED' && 'pid' in error.details))
      throw error;
    const { pid } = error.details;
    const who = pid === undefined ? 'another process' : `process ${pid}`;
    throw new VolleyError(
      'FEATURE_RUNNING',
      `${feature} is being run by ${who}. Follow it with volley watch --batch ${batchNameOf(feature)}, or wait for its end.`,
      { feature, pid },
    );
  }
}
