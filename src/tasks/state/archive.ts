import { VolleyError } from '../../core/errors.ts';
import { type Feature, progressOf } from '../feature.ts';
import { timeText } from './moment.ts';

/** What the feature's own file says once it is put away; only a finished one is, unless that is forced. */
export function archiveFields(feature: Feature, now: number, force: boolean): Record<string, unknown> {
  const { done, total } = progressOf(feature);
  if (done < total && !force) {
    throw new VolleyError(
      'SUBTASK_REFUSED',
      `${feature.name} is not finished: ${done} of ${total} subtasks are completed. Use --force to put it away all the same.`,
      { feature: feature.name, done, total },
    );
  }
  return {
    status: 'archived',
    completed_at: timeText(feature.task?.completedAt ?? now),
    subtask_count: total,
    completed_count: done,
  };
}
