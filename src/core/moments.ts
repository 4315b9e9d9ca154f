import type { Execution } from './execution.ts';
import { isSettled, Status } from './status.ts';

/** When an execution must be looked at even if nothing happens to it; 0 for never. */
export function nextMoment(execution: Execution): number {
  const { state, graceUntil } = execution;
  if (isSettled(state)) return graceUntil;
  const at = earlier(graceUntil, execution.deadlineAt);
  if (state === Status.running) {
    const { timeoutMs, stallMs } = execution.terms;
    const overrunAt = timeoutMs === 0 ? 0 : execution.startedAt + timeoutMs;
    const stalledAt = stallMs === 0 ? 0 : execution.progressAt + stallMs;
    return earlier(at, earlier(overrunAt, stalledAt));
  }
  // A stopped attempt must be gone before the next one may wait for its turn.
  if (state === Status.retrying && graceUntil === 0) return earlier(at, Math.max(1, execution.retryAt));
  return at;
}

/** The earlier of two moments, where 0 is none. */
function earlier(a: number, b: number): number {
  if (a === 0) return b;
  return b === 0 || a < b ? a : b;
}
