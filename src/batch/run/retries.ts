import { toCallError } from '../../coordinator/errors.ts';
import type { Redactor } from '../../coordinator/redaction/redactor.ts';
import type { FailureReason } from '../../core/failure.ts';
import type { GroupHandle } from '../../engine/group-handle.ts';
import type { RunJournal } from './journal.ts';
import type { RunMonitor } from './monitor.ts';
import type { TaskRun } from './task-run.ts';

interface RetryingRun {
  readonly journal: RunJournal;
  readonly monitor: RunMonitor;
  /** The task for which an execution stands. */
  taskOf(execution: string): TaskRun | undefined;
  plain(text: string): string;
}

/** Writes down and tells of attempts that failed and are followed by another one. */
export function noteRetries(group: GroupHandle, run: RetryingRun, redactor: Redactor): void {
  group.onRetry(({ id, reason, error, retryInMs }) => {
    const task = run.taskOf(id);
    if (task === undefined) return;
    const message = error === undefined ? texts(reason) : run.plain(toCallError(error, redactor).message);
    const endedAt = Date.now();
    const durationMs = task.attemptMs();
    const retryAt = endedAt + Math.round(retryInMs);
    task.pause = { reason, until: retryAt };
    const attempt = { startedAt: task.attemptStartedAt, endedAt, durationMs, reason, message, retryAt };
    // If writing fails, the journal ends the run.
    run.journal.attemptFailed(task.seq, attempt).catch(() => {});
    run.monitor.retrying(task, reason, retryInMs);
  });
}

function texts(reason: FailureReason): string {
  switch (reason) {
    case 'timeout':
      return 'It ran longer than its limit.';
    case 'stalled':
      return 'It reported no progress for too long.';
    default:
      return `It failed: ${reason}.`;
  }
}
