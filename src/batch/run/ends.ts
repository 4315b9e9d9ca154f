import type { Redactor } from '../../coordinator/redactor.ts';
import { toCallError } from '../../coordinator/reported-error.ts';
import type { Outcome } from '../../engine/outcome.ts';
import type { TaskEnd } from '../../store/records.ts';

/** How an execution ended, as it is written down; `plain` takes the engine's ids out of texts. */
export function endOf(
  outcome: Outcome,
  redactor: Redactor,
  plain: (text: string) => string,
): Exclude<TaskEnd, { status: 'completed' }> | undefined {
  switch (outcome.status) {
    case 'completed':
      // Written by the attempt itself, with its result.
      return undefined;
    case 'failed': {
      const { message, code } = toCallError(outcome.error, redactor);
      return {
        status: 'failed',
        reason: outcome.reason,
        message: plain(message),
        ...(code !== undefined && { code }),
      };
    }
    case 'cancelled':
      return { status: 'cancelled', message: plain(redactor.text(outcome.reason)) };
    case 'skipped':
      return { status: 'skipped', cause: outcome.cause === undefined ? undefined : plain(outcome.cause) };
  }
}
