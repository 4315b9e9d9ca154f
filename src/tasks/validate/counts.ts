import { type Feature, progressOf } from '../feature.ts';
import { TASK_FILE } from '../files/parse-task.ts';
import type { Problem } from '../problem.ts';

/** What `task.json` says against what the subtasks say. */
export function countProblems(feature: Feature): Problem[] {
  const { name, task, problems } = feature;
  const file = `${name}/${TASK_FILE}`;
  const error = (code: Problem['code'], text: string, remedy: string): Problem => ({
    code,
    severity: 'error',
    file,
    text,
    remedy,
  });
  if (task === undefined) {
    const isBroken = problems.some((one) => one.file === file);
    return isBroken
      ? []
      : [error('missing-task-file', 'there is no such file.', 'Write one with "id", "name" and "status".')];
  }
  const { done, total } = progressOf(feature);
  const found: Problem[] = [];
  if (total === 0)
    found.push(error('no-subtasks', 'the feature has no subtasks.', 'Write a subtask_01.json beside it.'));
  const counters = [
    ['subtask_count', task.subtaskCount, total],
    ['completed_count', task.completedCount, done],
  ] as const;
  for (const [key, stated, real] of counters) {
    if (stated === undefined || stated === real) continue;
    found.push(
      error(
        'count',
        `"${key}" is ${stated}, but it is ${real}.`,
        `Write ${real}; any change by Volley mends it, too.`,
      ),
    );
  }
  if (done < total && (task.status === 'completed' || task.status === 'archived')) {
    found.push(
      error(
        'status',
        `"status" is "${task.status}", but ${total - done} of ${total} subtasks are open.`,
        'Write "active".',
      ),
    );
  }
  return found;
}
