import { timeText } from '../state/moment.ts';
import { problemOf } from '../validate/deliverables.ts';
import type { Evidence } from './evidence.ts';
import { newestChange } from './newest-change.ts';

/** The system's clock for files runs a little behind; some file systems know whole seconds only. */
const CLOCK_STEP_MS = 20;
const WHOLE_SECOND_MS = 1000;

/** Whether a deliverable is there, and was changed since the work began. */
export async function checkDeliverable(
  project: string,
  deliverable: string,
  startedAt: number | undefined,
): Promise<Evidence> {
  const subject = deliverable;
  const problem = problemOf(deliverable);
  if (problem !== undefined) return { subject, ok: false, text: `${problem}, so it cannot be a deliverable` };
  const found = await newestChange(project, deliverable);
  if (found === undefined) return { subject, ok: false, text: 'does not exist' };
  if (startedAt === undefined) {
    return { subject, ok: true, text: 'exists (nobody noted when the work began, so it may be older)' };
  }
  const { changedAt } = found;
  const step = changedAt % WHOLE_SECOND_MS === 0 ? WHOLE_SECOND_MS : CLOCK_STEP_MS;
  if (changedAt + step >= startedAt)
    return { subject, ok: true, text: 'exists and was changed since the start' };
  return {
    subject,
    ok: false,
    text: `was not changed since the start (${timeText(startedAt)}); its last change was ${timeText(changedAt)}`,
  };
}
