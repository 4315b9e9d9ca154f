import { timeText } from '../state/moment.ts';
import { problemOf } from '../validate/deliverables.ts';
import type { Evidence } from './evidence.ts';
import { newestChange } from './newest-change.ts';

/** The system's clock for files runs a little behind; some file systems know whole seconds only. */
const CLOCK_STEP_MS = 20;
const WHOLE_SECOND_MS = 1000;
const CHANGED = 'exists and was changed since the start';

/** What is known of the time since the work began. */
export interface Since {
  readonly startedAt: number | undefined;
  /** Whether a deliverable changed, where somebody has compared the contents; otherwise the times of files tell. */
  isChanged?(deliverable: string): boolean;
}

/** Whether a deliverable is there, and was changed since the work began. */
export async function checkDeliverable(
  project: string,
  deliverable: string,
  { startedAt, isChanged }: Since,
): Promise<Evidence> {
  const subject = deliverable;
  const problem = problemOf(deliverable);
  if (problem !== undefined) return { subject, ok: false, text: `${problem}, so it cannot be a deliverable` };
  const found = await newestChange(project, deliverable);
  if (found === undefined) return { subject, ok: false, text: 'does not exist' };
  if (isChanged !== undefined) {
    const ok = isChanged(deliverable);
    return { subject, ok, text: ok ? CHANGED : 'is what it was before: nothing of it was changed' };
  }
  if (startedAt === undefined) {
    return { subject, ok: true, text: 'exists (nobody noted when the work began, so it may be older)' };
  }
  const { changedAt } = found;
  const step = changedAt % WHOLE_SECOND_MS === 0 ? WHOLE_SECOND_MS : CLOCK_STEP_MS;
  if (changedAt + step >= startedAt) return { subject, ok: true, text: CHANGED };
  return {
    subject,
    ok: false,
    text: `was not changed since the start (${timeText(startedAt)}); its last change was ${timeText(changedAt)}`,
  };
}
