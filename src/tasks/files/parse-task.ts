import { FEATURE_STATUSES, type TaskHead } from '../feature.ts';
import type { Problem } from '../problem.ts';
import { Fields } from './fields.ts';

export const TASK_FILE = 'task.json';

/** Reads a feature's own file from what it holds, and notes what is wrong with it. */
export function parseTask(
  feature: string,
  data: Readonly<Record<string, unknown>>,
  problems: Problem[],
): TaskHead {
  const fields = new Fields(data, `${feature}/${TASK_FILE}`, problems);
  const id = fields.text('id');
  if (id !== undefined && id !== feature) {
    fields.note('id', `"id" is ${JSON.stringify(id)}, the folder is ${feature}.`, `Write "${feature}".`);
  }
  return {
    id,
    name: fields.text('name') ?? feature,
    status: fields.word('status', FEATURE_STATUSES, 'active', 'blocked'),
    objective: fields.text('objective'),
    contextFiles: fields.references('context_files'),
    referenceFiles: fields.references('reference_files'),
    exitCriteria: fields.texts('exit_criteria'),
    subtaskCount: fields.count('subtask_count'),
    completedCount: fields.count('completed_count'),
    completedAt: fields.time('completed_at'),
  };
}
