import { VolleyError } from './errors.ts';
import { show } from './numbers.ts';

/** From most to least urgent; an execution's level is the index. */
export const PRIORITIES = ['critical', 'high', 'normal', 'low', 'background'] as const;

/** How urgent an execution is; `medium` is an alias of `normal`. */
export type Priority = (typeof PRIORITIES)[number] | 'medium';

const NORMAL_LEVEL = 2;

export function priorityLevel(priority: unknown): number {
  switch (priority) {
    case undefined:
    case 'normal':
    case 'medium':
      return NORMAL_LEVEL;
    case 'critical':
      return 0;
    case 'high':
      return 1;
    case 'low':
      return 3;
    case 'background':
      return 4;
    default:
      throw new VolleyError(
        'UNKNOWN_PRIORITY',
        `Unknown priority ${show(priority)}: use critical, high, normal (or medium), low or background.`,
        { priority, valid: [...PRIORITIES, 'medium'] },
      );
  }
}
