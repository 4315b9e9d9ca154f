import { VolleyError } from '../core/errors.ts';
import { shellQuote } from '../core/shell-quote.ts';
import type { LeaseHolder, TaskEnd } from './records.ts';

/** Why a store refuses a write, in the same words whichever store it is. */

export function unknownBatch(batch: string): VolleyError {
  return new VolleyError('UNKNOWN_BATCH', `There is no batch ${JSON.stringify(batch)}.`, { batch });
}

export function unknownNumber(batch: string, seq: number): VolleyError {
  return new VolleyError('UNKNOWN_TASK', `The batch ${JSON.stringify(batch)} has no task number ${seq}.`, {
    batch,
    seq,
  });
}

export function settled(batch: string, seq: number): VolleyError {
  return new VolleyError(
    'TASK_SETTLED',
    `Task number ${seq} of the batch ${JSON.stringify(batch)} has already ended.`,
    { batch, seq },
  );
}

export function duplicateId(batch: string, id: string): VolleyError {
  return new VolleyError(
    'DUPLICATE_ID',
    `The batch ${JSON.stringify(batch)} already has a task ${JSON.stringify(id)}, or the id is given twice. Nothing was added.`,
    { batch, id },
  );
}

/** The refusals of `reopen`. */
export const notReopened = {
  unknown: (batch: string, id: string) =>
    new VolleyError(
      'UNKNOWN_TASK',
      `The batch ${JSON.stringify(batch)} has no task ${JSON.stringify(id)}. Nothing was changed.`,
      { batch, id },
    ),
  groupRuns: (batch: string, id: string) =>
    new VolleyError(
      'INVALID_REQUEST',
      `${JSON.stringify(id)} belongs to a group that is still running. Retry it when the group has ended. Nothing was changed.`,
      { batch, id },
    ),
  isCall: (batch: string, id: string) =>
    new VolleyError(
      'INVALID_REQUEST',
      `${JSON.stringify(id)} is a call of a program, which can only be retried as a whole. Nothing was changed.`,
      { batch, id },
    ),
};

export function batchHeld(batch: string, holder: LeaseHolder): VolleyError {
  const { pid, host, since } = holder;
  return new VolleyError(
    'BATCH_HELD',
    `The batch ${JSON.stringify(batch)} is being run by process ${pid} on ${host}, since ${new Date(since).toISOString()}. ` +
      `Follow it with volley watch --batch ${shellQuote(batch)}, wait for it to end, or stop it. Other batches can run meanwhile.`,
    { batch, holder },
  );
}

export function leaseLost(batch: string): VolleyError {
  return new VolleyError(
    'BATCH_HELD',
    `The batch ${JSON.stringify(batch)} may be run by another process now: this one did not renew its lease in time.`,
    { batch },
  );
}

/** The end of a task whose process died, and which may not run twice. */
export function crashedEnd(functionName: string): Extract<TaskEnd, { status: 'failed' }> {
  return {
    status: 'failed',
    reason: 'crashed',
    message:
      `The process that ran it died midway, and ${functionName} is not declared idempotent, so it was not ` +
      'run again. Check what it has already done, then retry it.',
  };
}

/** Approximately when it ended, since recovery may run much later. The clock may have been set meanwhile. */
export function crashedAt(attemptAt: number | null, lastSeenAt: number, now: number): number {
  return Math.trunc(Math.min(Math.max(attemptAt ?? 0, lastSeenAt), now));
}
