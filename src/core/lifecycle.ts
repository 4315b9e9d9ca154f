import type { Catalog } from './catalog.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Effects } from './effects.ts';
import { internalError } from './errors.ts';
import type { Ending, Execution } from './execution.ts';
import type { ExecutionGraph } from './execution-graph.ts';
import { type Failure, RelatedCancellation } from './failure.ts';
import type { Group } from './group.ts';
import { type LimitHit, MAX_REFUSALS } from './quota.ts';
import type { Random } from './random.ts';
import { retryDelayMs } from './retry.ts';
import { ALLOWED, isSettled, STATUS_NAMES, Status, type StatusCode } from './status.ts';
import { isUncounted, mayRetry } from './terms.ts';
import type { Timed, Timeouts, Timers } from './timers.ts';
import { renewPaths } from './urgency.ts';
import { claimsMemory, fitsMemory, withMemory } from './usage.ts';

interface LifecycleParts {
  readonly graph: ExecutionGraph<Execution>;
  readonly catalog: Catalog;
  readonly dispatcher: Dispatcher;
  readonly timers: Timers<Timed>;
  readonly timeouts: Timeouts;
  readonly effects: Effects;
  readonly random: Random;
  readonly graceMs: number;
  readonly retention: Retention;
}

/**
 * Moves executions through the transition table and updates everything that depends on it: counts, timers, dependents,
 * the failure policy of the group. Each execution settles exactly once and never changes after that.
 */
export class Lifecycle {
  /** The number of executions per status, in the order of STATUS_NAMES; for final statuses, the total so far. */
  readonly counts: number[] = STATUS_NAMES.map(() => 0);
  /** How many stopped attempts are in their grace period. */
  lingering = 0;
  /** How often each transition happened: `from * 8 + to`. */
  readonly transitionsTaken: Uint32Array = new Uint32Array(STATUS_NAMES.length ** 2);
  /** Groups whose paths should be computed again before anything else starts. */
  readonly outdated = new Set<Group>();
  /** Pending executions that will be skipped because of a dependency; a list, because a chain may be long. */
  private readonly toSkip: Execution[] = [];
  /** When the execution settled whose dependents are now unblocked. */
  private settlingAt = 0;

  constructor(private readonly parts: LifecycleParts) {}

  /** Accepts an execution that is already in the graph. A group is accepted as a whole before any is judged. */
  accept(execution: Execution): void {
    const { tool, group } = execution.demand;
    execution.demand.add(execution);
    this.parts.dispatcher.structureChanged();
    tool.unsettled++;
    group.add(execution);
    this.counts[Status.pending]!++;
    group.counts[Status.pending]!++;
    if (execution.deadlineAt !== 0) this.updateTimer(execution);
  }

  /** Queues or skips an execution if its dependencies decide that already. */
  judge(execution: Execution, now: number): void {
    if (execution.state !== Status.pending) return;
    const failed = execution.firstUnsuccessful();
    if (failed !== undefined) this.dependencySettled(execution, failed, now);
    else if (execution.waitingFor === 0) this.allSettled(execution, now);
    this.skipAll(now);
  }

  /** Starts the attempt that the dispatcher took resources for. */
  begin(execution: Execution, now: number): void {
    this.move(execution, Status.running, now);
    execution.nextAttempt();
    execution.startedAt = now;
    if (execution.terms.stallMs !== 0) execution.progressAt = now;
    if (!this.parts.timeouts.add(execution, now)) this.updateTimer(execution);
    this.parts.effects.start(execution);
  }

  /**
   * The work of the attempt is done and its result is being kept: nothing but the attempt itself ends it. With `releases`
   * it gives its room back, unless it excludes others by locks or conflicts, a quota is being watched, or others depend on
   * it: those may be more urgent than what would take its room.
   */
  keep(execution: Execution, releases: boolean, now: number): void {
    const { dispatcher } = this.parts;
    execution.isKept = true;
    if (!releases || execution.room !== 'held' || dispatcher.excludesOthers(execution)) return;
    if (execution.dependents !== undefined && execution.dependents.length > 0) return;
    this.learn(execution, now);
    this.releaseRoom(execution, now);
  }

  succeeded(execution: Execution, now: number): void {
    const { dispatcher } = this.parts;
    if (!dispatcher.quotas.isEmpty) dispatcher.accepted(execution, true);
    if (!execution.isSaving) this.learn(execution, now);
    this.endAttempt(execution, now);
    const { group } = execution.demand;
    this.settle(execution, Status.completed, undefined, now);
    if (group.hasOutdatedPaths(this.parts.catalog.unknown.version)) this.outdated.add(group);
  }

  /** Releases the resources of an ended attempt. */
  failed(execution: Execution, failure: Failure, now: number): void {
    const { dispatcher } = this.parts;
    if (failure.limit === undefined && !dispatcher.quotas.isEmpty) dispatcher.accepted(execution, false);
    this.endAttempt(execution, now);
    const { limit, ...ordinary } = failure;
    if (limit === undefined || !this.refused(execution, limit, failure, now))
      this.afterFailure(execution, limit === undefined ? failure : ordinary, now);
  }

  /**
   * Puts an execution back into the queue because a quota is used up. Returns false if it was put back too often, or may
   * not run again.
   */
  private refused(execution: Execution, limit: LimitHit, failure: Failure, now: number): boolean {
    const { dispatcher } = this.parts;
    const { scope = execution.quota, retryAfterMs } = limit;
    const isPaused = dispatcher.refuse(execution, scope, retryAfterMs, now);
    // What names another quota must not come back at once itself.
    const own = execution.quota;
    const isOwnPaused = scope === own ? isPaused : dispatcher.refuse(execution, own, retryAfterMs, now);
    if (!isOwnPaused || execution.isLast || execution.refusals >= MAX_REFUSALS) return false;
    execution.refusals++;
    this.move(execution, Status.retrying, now);
    execution.retryAt = now;
    this.updateTimer(execution);
    this.parts.effects.retrying(execution, failure, now);
    return true;
  }

  /** Ends unsettled executions from outside: first the given ones, then the dependents this rules out. */
  end(executions: readonly Execution[], ending: Ending, now: number): number {
    const ended = this.endEach(executions, ending, now);
    this.skipAll(now);
    return ended;
  }

  /** Ends all executions of the groups. */
  endGroups(groups: readonly Group[], ending: Ending, now: number): void {
    for (const group of groups) {
      const { failFast } = group;
      group.failFast = false;
      this.endEach(group.unsettledMembers().reverse(), ending, now);
      group.failFast = failFast;
    }
    this.skipAll(now);
  }

  /** Handles the end of a stopped attempt. */
  attemptGone(execution: Execution, now: number): void {
    this.releaseRoom(execution, now);
    execution.graceUntil = 0;
    this.lingering--;
    this.updateTimer(execution);
  }

  onTimer(execution: Execution, now: number): void {
    if (execution.graceUntil !== 0 && now >= execution.graceUntil) {
      execution.graceUntil = 0;
      this.lingering--;
      this.parts.effects.abandoned(execution, now);
      this.releaseRoom(execution, now);
    }
    const { state, deadlineAt } = execution;
    const { timeoutMs, stallMs } = execution.terms;
    if (isSettled(state) || execution.isKept) return;
    if (deadlineAt !== 0 && now >= deadlineAt) {
      this.end([execution], { kind: 'failed', failure: { reason: 'deadline' } }, now);
    } else if (state === Status.running && timeoutMs !== 0 && now >= execution.startedAt + timeoutMs) {
      this.overrun(execution, { reason: 'timeout' }, now);
    } else if (state === Status.running && stallMs !== 0 && now >= execution.progressAt + stallMs) {
      this.overrun(execution, { reason: 'stalled' }, now);
    } else if (state === Status.retrying && execution.graceUntil === 0 && now >= execution.retryAt) {
      this.queue(execution, now);
    } else {
      this.updateTimer(execution);
    }
  }

  /** Orders the executions of a group by what was learned while it ran. */
  renewPaths(group: Group): void {
    group.pathsVersion = this.parts.catalog.unknown.version;
    group.pathsOf = group.unsettled;
    if (!group.hasSeveralTools) return;
    renewPaths(group.unsettledMembers(), (execution) => this.rerank(execution));
    // Backfilling depends on estimates.
    this.parts.dispatcher.holdersChanged();
  }

  /** Moves a waiting execution to the position of its new urgency. */
  rerank(execution: Execution): void {
    if (execution.state === Status.queued) this.parts.dispatcher.rerank(execution);
  }

  /** Returns the number of ended executions. One whose result is being kept ends by itself, without another attempt. */
  private endEach(executions: readonly Execution[], ending: Ending, now: number): number {
    let ended = 0;
    for (const execution of executions) {
      if (isSettled(execution.state)) continue;
      if (execution.isKept) {
        execution.isLast = true;
        continue;
      }
      if (execution.state === Status.running) this.stopAttempt(execution, now);
      this.finish(execution, Status[ending.kind], ending, now);
      ended++;
    }
    return ended;
  }

  private overrun(execution: Execution, failure: Failure, now: number): void {
    this.stopAttempt(execution, now);
    this.afterFailure(execution, failure, now);
  }

  private afterFailure(execution: Execution, failure: Failure, now: number): void {
    const { terms } = execution;
    const isFree = isUncounted(failure, execution.lost);
    if (isFree) execution.lost++;
    const { countedAttempts, lost } = execution;
    if (
      !execution.isLast &&
      mayRetry(terms, countedAttempts, failure) &&
      this.giveMemory(execution, failure)
    ) {
      this.move(execution, Status.retrying, now);
      const isUnbegun = isFree && failure.reason !== 'crashed';
      const pauses = isFree ? lost : countedAttempts;
      execution.retryAt = isUnbegun ? now : now + retryDelayMs(terms.retry, pauses, this.parts.random);
      this.updateTimer(execution);
      this.parts.effects.retrying(execution, failure, now);
    } else {
      this.settle(execution, Status.failed, { kind: 'failed', failure }, now);
    }
  }

  /** Gives an execution between two attempts the memory that its failure asks for. Returns false if it does not fit. */
  private giveMemory(execution: Execution, { memoryMb }: Failure): boolean {
    const { catalog, dispatcher } = this.parts;
    if (memoryMb === undefined) return true;
    if (!fitsMemory(memoryMb, dispatcher.resources.limits)) return false;
    const { demand } = execution;
    const { tool, group, conflicts, learns, on, quotas } = demand;
    const needs = withMemory(execution.heldNeeds, memoryMb);
    execution.demand = catalog.demandClass(tool, group, needs, conflicts, claimsMemory(learns), on, quotas);
    execution.demand.add(execution);
    if (demand.remove(execution) === 0) catalog.release(demand);
    return true;
  }

  private queue(execution: Execution, now: number): void {
    this.move(execution, Status.queued, now);
    if (execution.timerIndex >= 0 || execution.deadlineAt !== 0) this.updateTimer(execution);
    this.parts.dispatcher.enqueue(execution);
  }

  private learn({ demand: { tool }, startedAt, ownEstimateMs }: Execution, now: number): void {
    tool.durations.learn(now - startedAt, ownEstimateMs);
  }

  /** Handles an attempt that ended by itself. */
  private endAttempt(execution: Execution, now: number): void {
    execution.isKept = false;
    if (execution.room === 'lent') this.parts.dispatcher.forgetLent(execution);
    this.releaseRoom(execution, now);
  }

  /** Stops an attempt. It keeps its resources until it has ended or its grace period is over. */
  private stopAttempt(execution: Execution, now: number): void {
    if (execution.room === 'lent') this.parts.dispatcher.forgetLent(execution);
    execution.graceUntil = Math.max(1, now + this.parts.graceMs);
    this.lingering++;
    this.parts.effects.stop(execution);
  }

  private releaseRoom(execution: Execution, now: number): void {
    if (execution.room === 'held') {
      this.parts.dispatcher.release(execution);
      this.parts.effects.released(execution, now);
    }
    if (isSettled(execution.state)) this.forgetClaims(execution);
  }

  private settle(execution: Execution, to: StatusCode, ending: Ending | undefined, now: number): void {
    this.finish(execution, to, ending, now);
    this.skipAll(now);
  }

  private finish(execution: Execution, to: StatusCode, ending: Ending | undefined, now: number): void {
    const { graph, catalog, dispatcher, effects, timers, retention } = this.parts;
    const { demand } = execution;
    const { group } = demand;
    if (execution.state === Status.queued) dispatcher.withdraw(execution);
    this.move(execution, to, now);
    if (ending !== undefined) execution.ending = ending;
    if (execution.timerIndex >= 0 || execution.graceUntil !== 0) this.updateTimer(execution);
    if (execution.claims !== undefined && execution.graceUntil === 0) this.forgetClaims(execution);
    group.remove(execution);
    if (group.unsettled === 0) timers.clear(group);
    demand.tool.unsettled--;
    // After a success, only the dependents that are now unblocked matter.
    const affected = to === Status.completed ? undefined : execution.dependents;
    this.settlingAt = now;
    graph.settle(execution, affected === undefined ? this.unblocked : undefined);
    if (affected !== undefined)
      for (const dependent of affected) this.dependencySettled(dependent, execution, now);
    const endsGroup = to === Status.failed && group.failFast && !execution.isOwnedWithin(group);
    retention.add(execution);
    effects.settled(execution);
    if (demand.remove(execution) === 0) catalog.release(demand);
    if (endsGroup) {
      this.skipAll(now);
      const reason = new RelatedCancellation({ event: 'fail-fast', id: execution.id });
      this.endGroups([group], { kind: 'cancelled', reason }, now);
    }
  }

  private forgetClaims(execution: Execution): void {
    if (execution.claims !== undefined) this.parts.dispatcher.resources.locks.forget(execution);
  }

  private dependencySettled(execution: Execution, dependency: Execution, now: number): void {
    if (execution.state !== Status.pending) return;
    if (execution.terms.policy === 'skip' && dependency.state !== Status.completed)
      this.toSkip.push(execution);
    else if (execution.waitingFor === 0) this.allSettled(execution, now);
  }

  /** Called for each dependent of an execution that was the last it waited for. */
  private readonly unblocked = (execution: Execution): void => {
    if (execution.state === Status.pending) this.allSettled(execution, this.settlingAt);
  };

  private allSettled(execution: Execution, now: number): void {
    const isUnneeded = execution.terms.policy === 'on-failure' && execution.firstUnsuccessful() === undefined;
    if (isUnneeded) this.toSkip.push(execution);
    else this.queue(execution, now);
  }

  private skipAll(now: number): void {
    const { toSkip } = this;
    while (toSkip.length > 0) {
      const execution = toSkip.pop()!;
      if (execution.state !== Status.pending) continue;
      const failed = execution.firstUnsuccessful();
      const cause = failed?.ending?.kind === 'skipped' ? (failed.ending.cause ?? failed) : failed;
      this.finish(execution, Status.skipped, { kind: 'skipped', cause }, now);
    }
  }

  private move(execution: Execution, to: StatusCode, now: number): void {
    const from = execution.state;
    if ((ALLOWED[from]! & (1 << to)) === 0) {
      throw internalError(
        `${execution.id} cannot go from ${STATUS_NAMES[from]} to ${STATUS_NAMES[to]} (attempt ${execution.attempt}, submitted at ${execution.submittedAt}, started at ${execution.startedAt})`,
      );
    }
    const groupCounts = execution.demand.group.counts;
    this.transitionsTaken[from * 8 + to]!++;
    this.counts[from]!--;
    this.counts[to]!++;
    groupCounts[from]!--;
    groupCounts[to]!++;
    execution.state = to;
    execution.since = now;
  }

  private updateTimer(execution: Execution): void {
    const at = nextMoment(execution);
    if (at === 0) this.parts.timers.clear(execution);
    else this.parts.timers.set(execution, at);
  }
}

/** Keeps the most recently settled executions findable by id, and forgets the oldest. */
export class Retention {
  /** Numbers, so that forgetting an execution does not touch it. */
  private readonly settled: number[] = [];
  private oldest = 0;

  constructor(
    private readonly graph: ExecutionGraph<Execution>,
    private readonly capacity: number,
  ) {}

  add({ seq }: Execution): void {
    if (this.settled.length < this.capacity) {
      this.settled.push(seq);
    } else if (this.capacity === 0) {
      this.graph.forget(seq);
    } else {
      this.graph.forget(this.settled[this.oldest]!);
      this.settled[this.oldest] = seq;
      if (++this.oldest === this.capacity) this.oldest = 0;
    }
  }
}

/** The next time an execution must be checked if nothing happens to it; 0 for never. */
function nextMoment(execution: Execution): number {
  const { state, graceUntil } = execution;
  if (isSettled(state)) return graceUntil;
  const at = earlier(graceUntil, execution.deadlineAt);
  if (state === Status.running) {
    const { timeoutMs, stallMs } = execution.terms;
    const overrunAt = timeoutMs === 0 ? 0 : execution.startedAt + timeoutMs;
    const stalledAt = stallMs === 0 ? 0 : execution.progressAt + stallMs;
    return earlier(at, earlier(overrunAt, stalledAt));
  }
  // A stopped attempt must be gone before the next one may queue.
  if (state === Status.retrying && graceUntil === 0) return earlier(at, Math.max(1, execution.retryAt));
  return at;
}

/** The earlier of two times, where 0 means none. */
function earlier(a: number, b: number): number {
  if (a === 0) return b;
  return b === 0 || a < b ? a : b;
}
