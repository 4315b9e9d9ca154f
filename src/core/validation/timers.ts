import { Execution } from '../execution.ts';
import { Group } from '../group.ts';
import { RateLimit } from '../rate.ts';
import type { Scheduler } from '../scheduler.ts';
import { isSettled, Status } from '../status.ts';
import type { Timeouts } from '../timeouts.ts';
import type { Census } from './accounts.ts';
import { check, count } from './check.ts';
import { checkHeap } from './waiting.ts';

/** A timer stands for every moment at which time alone changes something, and for no other. */
export function checkTimers({ timers, timeouts, lifecycle }: Scheduler, { all }: Census): void {
  checkHeap(timers, (timed) => timed.timerIndex, 'the timers');
  for (const timed of timers) {
    if (timed instanceof Group)
      check(timed.unsettled > 0, `the group ${timed.name} with a timer has not ended`);
    else check(timed instanceof Execution || timed instanceof RateLimit, 'each timer belongs to somebody');
  }
  const lingering = count(all, ({ graceUntil }) => graceUntil !== 0);
  check(lifecycle.lingering === lingering, `${lingering} stopped attempts linger (${lifecycle.lingering})`);
  const listed = checkTimeouts(timeouts);
  for (const execution of all) {
    const expected = firstMoment(execution);
    const hasTimer = execution.timerIndex >= 0;
    check(!hasTimer || !listed.has(execution), 'each limit is watched in one place', execution);
    const isSet = hasTimer || listed.has(execution);
    const isRightlySet = isSet === expected < Number.POSITIVE_INFINITY;
    // The limits of one that is kept have lost their meaning, and are forgotten when their moment comes.
    check(isRightlySet || execution.isKept, 'a timer is set while there is a limit', execution);
    if (!isSet || execution.isKept) continue;
    const at = hasTimer ? timers.keyAt(execution.timerIndex) : listed.get(execution)!;
    // Progress and a late begin move limits without touching the timer, which then comes too early.
    const mayComeEarly = execution.state === Status.running;
    const isRight = mayComeEarly ? at <= expected : at === expected;
    check(isRight, `the timer (${at}) is set for the next limit (${expected})`, execution);
  }
}

/** The attempts that have nothing but a timeout, and when they have run for it. */
function checkTimeouts(timeouts: Timeouts): Map<Execution, number> {
  const listed = new Map<Execution, number>();
  const lastAt = new Map<number, number>();
  const found = timeouts.firstAt;
  let firstAt = Number.POSITIVE_INFINITY;
  for (const [execution, at] of timeouts) {
    const { timeoutMs } = execution.terms;
    check(!listed.has(execution), 'each timeout is listed once', execution);
    check(at >= (lastAt.get(timeoutMs) ?? at), 'attempts of one timeout are in order', execution);
    listed.set(execution, at);
    lastAt.set(timeoutMs, at);
    firstAt = Math.min(firstAt, at);
  }
  check(found === firstAt, `the first timeout (${found}) is the first (${firstAt})`);
  check(timeouts.listed >= listed.size, 'the timeouts know how many are listed');
  return listed;
}

function firstMoment(execution: Execution): number {
  const { state, graceUntil, deadlineAt, startedAt, progressAt, retryAt } = execution;
  const { timeoutMs, stallMs } = execution.terms;
  const moments: number[] = [];
  if (graceUntil !== 0) moments.push(graceUntil);
  if (!isSettled(state) && deadlineAt !== 0) moments.push(deadlineAt);
  if (state === Status.running && timeoutMs !== 0) moments.push(startedAt + timeoutMs);
  if (state === Status.running && stallMs !== 0) moments.push(progressAt + stallMs);
  if (state === Status.retrying && graceUntil === 0) moments.push(Math.max(1, retryAt));
  return Math.min(...moments);
}
