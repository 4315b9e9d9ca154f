import { outcomeError } from '../../coordinator/errors.ts';
import type { Redactor } from '../../coordinator/redaction/redactor.ts';
import type { Outcome } from '../../engine/outcome.ts';
import type { TaskEnd } from '../../store/records.ts';
import type { RunJournal } from './journal.ts';
import type { TaskRun } from './task-run.ts';

/** How a task ended, as it is safe in the store; undefined if nothing was written. */
export type WrittenEnd = TaskEnd | 'completed' | 'opened' | undefined;

/** Writes down how a task ended whose execution did not simply complete, unless it shall stay open. */
export async function writtenEnd(
  task: TaskRun,
  journal: RunJournal,
  endOfTask: () => TaskEnd | undefined,
): Promise<WrittenEnd> {
  try {
    if (journal.isClosed || (task.isLeft && !task.hasStarted)) return undefined;
    if (task.isLeft) {
      await journal.putBack(task.seq, task.attemptMs());
      return 'opened';
    }
    const end = endOfTask();
    const durationMs = task.hasStarted ? task.attemptMs() : undefined;
    if (end !== undefined) await journal.ended(task.seq, end, durationMs);
    return end;
  } catch {
    // The journal has told already.
    return undefined;
  }
}

/** How the execution of a task ended, as it is written down; `plain` takes the engine's ids out of texts. */
export function endOf(
  { function: called }: TaskRun,
  outcome: Outcome,
  redactor: Redactor,
  plain: (text: string) => string,
): Exclude<TaskEnd, { status: 'completed' }> | undefined {
  switch (outcome.status) {
    case 'completed':
      // Written by the attempt itself, with its result.
      return undefined;
    case 'failed': {
      const { message, code } = outcomeError(outcome, called, redactor, plain);
      return { status: 'failed', reason: outcome.reason, message, ...(code !== undefined && { code }) };
    }
    case 'cancelled':
      return { status: 'cancelled', message: plain(redactor.text(outcome.reason)) };
    case 'skipped':
      return { status: 'skipped', cause: outcome.cause === undefined ? undefined : plain(outcome.cause) };
  }
}
