import { type Feature, progressOf } from '../feature.ts';
import { timeText } from './moment.ts';

/**
 * What the feature's own file should say after a change of its subtasks; only what differs. It is counted anew every
 * time, so that a counter that went wrong becomes right again.
 */
export function taskFields(feature: Feature, now: number): Record<string, unknown> {
  const { task } = feature;
  if (task === undefined) return {};
  const { done, total } = progressOf(feature);
  const fields: Record<string, unknown> = {};
  if (task.subtaskCount !== total) fields['subtask_count'] = total;
  if (task.completedCount !== done) fields['completed_count'] = done;
  const isDone = total > 0 && done === total;
  if (isDone && task.status === 'active') {
    fields['status'] = 'completed';
    fields['completed_at'] = timeText(now);
  }
  if (!isDone && task.status === 'completed') {
    fields['status'] = 'active';
    fields['completed_at'] = null;
  }
  return fields;
}
