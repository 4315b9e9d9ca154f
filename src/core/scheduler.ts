import { type Admitting, checkGroupName, discard, fill, guessByEstimates, KnownNeeds } from './admission.ts';
import type { Block } from './block.ts';
import { applySharedLimits, Catalog, checkAllLimits, checkSharedLimits } from './catalog.ts';
import { KnownFields } from './check-known.ts';
import { Dispatcher } from './dispatcher.ts';
import type { Effects } from './effects.ts';
import { internalError, VolleyError } from './errors.ts';
import { Execution } from './execution.ts';
import { ExecutionGraph } from './execution-graph.ts';
import { type Failure, RelatedCancellation } from './failure.ts';
import { Group } from './group.ts';
import { Lifecycle, Retention } from './lifecycle.ts';
import { checkNumber, checkSpanMs, MAX_SPAN_MS, show } from './numbers.ts';
import type { WorkerPlacement } from './placement.ts';
import { draftPlan, MAX_PLANNED, Plan, type PlanDraft } from './plan.ts';
import { Quota } from './quota.ts';
import { seededRandom } from './random.ts';
import { RateLimit } from './rate.ts';
import type { SchedulerLimits, SchedulerOptions } from './scheduler-options.ts';
import { checkGroupSpec, EXECUTION_FIELDS, type ExecutionSpec, type GroupSpec } from './spec.ts';
import { isSettled, Status, type StatusCode } from './status.ts';
import { type Timed, Timeouts, Timers } from './timers.ts';
import type { ToolState } from './tool.ts';
import { raiseDependencies, raiseGroup } from './urgency.ts';
import { type AttemptUsage, checkUsage, UsageModel } from './usage.ts';

/** The smallest share of the budget for a plan. Usually the share is that of the executions that are new or have ended. */
const MIN_EFFORT = 0.05;

/**
 * The heart of Volley: a synchronous state machine. Events come in through its methods, each with its time; commands go
 * out through {@link Effects}. Executions start only in `advance`, and the same calls in the same order always give the
 * same schedule.
 */
export class Scheduler {
  readonly catalog: Catalog;
  readonly graph = new ExecutionGraph<Execution>();
  readonly timers = new Timers<Timed>();
  readonly timeouts = new Timeouts((execution, at) => this.timers.set(execution, at));
  readonly dispatcher: Dispatcher;
  readonly lifecycle: Lifecycle;
  /** The allowance between two priorities. */
  readonly stepMs: number;
  private readonly admitting: Admitting;
  private readonly begin: (execution: Execution) => void;
  private readonly rerank = (execution: Execution): void => this.lifecycle.rerank(execution);
  private readonly resumed: (execution: Execution) => void;
  private readonly isPlanOff: boolean;
  /** The dispatcher's structure for which a plan was last drafted. */
  private draftedStructure = 0;
  /** How many executions had been submitted or settled by then. */
  private draftedEvents = 0;
  /** What was known of durations when that was not possible; -1 if it was. */
  private undraftedVersion = -1;
  private lastSeq = 0;
  /** The time of the last `advance`. */
  now = 0;

  /** `shellFields` are the fields of a specification that only the shell reads. */
  constructor(effects: Effects, options: SchedulerOptions = {}, shellFields: readonly string[] = []) {
    const {
      ageingMs = 30_000,
      reserveAfterMs = 5000,
      graceMs = 5000,
      retainSettled = 1000,
      seed = 1,
      plan = 'auto',
    } = options;
    checkPlan(plan);
    this.isPlanOff = plan === 'off';
    checkNumber('seed', seed, { min: 0, max: 2 ** 32, integer: true });
    const stepMs = Math.ceil(checkNumber('ageingMs', ageingMs, { min: 1, max: MAX_SPAN_MS }));
    this.stepMs = stepMs;
    this.catalog = new Catalog(stepMs);
    this.dispatcher = new Dispatcher(
      this.timers,
      checkNumber('reserveAfterMs', reserveAfterMs, { min: 0, max: MAX_SPAN_MS }),
    );
    this.lifecycle = new Lifecycle({
      graph: this.graph,
      catalog: this.catalog,
      dispatcher: this.dispatcher,
      timers: this.timers,
      timeouts: this.timeouts,
      effects,
      random: seededRandom(seed),
      graceMs: Math.ceil(checkNumber('graceMs', graceMs, { min: 0, max: MAX_SPAN_MS })),
      retention: new Retention(
        this.graph,
        checkNumber('retainSettled', retainSettled, { min: 0, max: 1e9, integer: true }),
      ),
    });
    const fields = new KnownFields('field of an execution', new Set([...EXECUTION_FIELDS, ...shellFields]));
    const { resources } = this.dispatcher;
    this.admitting = { catalog: this.catalog, resources, stepMs, fields, knownNeeds: new KnownNeeds() };
    this.begin = (execution) => this.lifecycle.begin(execution, this.now);
    this.resumed = (execution) => effects.resumed(execution);
    if (options.limits !== undefined) this.limit(options.limits);
  }

  /** Accepts one blank execution. It starts in a later `advance`. */
  submit(execution: Execution, spec: ExecutionSpec, now: number): void {
    fill(this.admitting, execution, spec, this.lastSeq + 1, now);
    try {
      this.graph.addSingle(execution, spec.dependsOn);
    } catch (error) {
      discard(this.admitting, [execution]);
      throw error;
    }
    this.lastSeq++;
    if (execution.terms.isEstimated) guessByEstimates(this.admitting, [execution]);
    if (execution.links !== undefined) raiseDependencies([execution], this.rerank);
    this.lifecycle.accept(execution);
    this.lifecycle.judge(execution, now);
  }

  /** Throws the errors of `submit` that depend on the specification alone. */
  check(spec: ExecutionSpec, now: number): void {
    const probe = new Execution();
    fill(this.admitting, probe, spec, 0, now);
    discard(this.admitting, [probe]);
  }

  /** Accepts executions as one group, all or none. They may depend on each other in any order. */
  submitAll(
    executions: readonly Execution[],
    specs: readonly ExecutionSpec[],
    now: number,
    options: GroupSpec = {},
  ): Group {
    checkGroupSpec(options);
    const { name = this.catalog.unusedGroupName(), failFast, timeoutMs } = options;
    checkGroupName(name);
    const limits = checkSharedLimits(`group ${name}`, options);
    const spanMs = checkSpanMs(`timeoutMs of group ${name}`, timeoutMs);
    const group = this.catalog.group(name, now);
    const firstSeq = this.lastSeq + 1;
    let block: Block<Execution> | undefined;
    let filled = 0;
    let hasEstimates = false;
    try {
      for (; filled < specs.length; filled++) {
        const execution = executions[filled]!;
        fill(this.admitting, execution, specs[filled]!, firstSeq + filled, now, group);
        if (execution.terms.isEstimated) hasEstimates = true;
      }
      // The numbers are used up even if the group is rejected.
      this.lastSeq += executions.length;
      block = this.graph.addAll(executions, specs);
    } catch (error) {
      discard(this.admitting, executions.slice(0, filled));
      this.catalog.dropGroupIfIdle(group);
      throw error;
    } finally {
      this.admitting.knownNeeds.clear();
    }
    this.wakeRate(applySharedLimits(group, limits));
    this.dispatcher.contest.wake(group.waiters);
    this.dispatcher.holdersChanged();
    if (failFast !== undefined || group.unsettled === 0) group.failFast = failFast ?? false;
    if (spanMs !== 0 && executions.length > 0) this.timers.set(group, now + spanMs);
    if (hasEstimates) guessByEstimates(this.admitting, executions);
    if (block !== undefined) raiseGroup(block, this.stepMs, this.rerank);
    this.acceptAll(executions, block, now);
    this.catalog.dropGroupIfIdle(group);
    return group;
  }

  /** Fails executions that were just submitted, each with its own failure, before fail-fast applies to the group. */
  refuse(group: Group, refused: readonly (readonly [Execution, Failure])[], now: number): void {
    const { failFast } = group;
    group.failFast = false;
    for (const [execution, failure] of refused)
      this.lifecycle.end([execution], { kind: 'failed', failure }, now);
    group.failFast = failFast;
    const first = failFast ? refused.find(([execution]) => !execution.isOwnedWithin(group)) : undefined;
    if (first === undefined) return;
    const reason = new RelatedCancellation({ event: 'fail-fast', id: first[0].id });
    this.cancelGroup(group, reason, now);
  }

  /** Records that the attempt succeeded. Returns false for a late result, of a stopped or an earlier attempt. */
  succeed(execution: Execution, attempt: number, now: number): boolean {
    if (!this.isCurrent(execution, attempt, now)) return false;
    this.lifecycle.succeeded(execution, now);
    return true;
  }

  /** Records that the attempt failed. Returns false for a late result, like `succeed`. */
  fail(execution: Execution, attempt: number, failure: Failure, now: number): boolean {
    if (!this.isCurrent(execution, attempt, now)) return false;
    this.lifecycle.failed(execution, failure, now);
    return true;
  }

  /** Records a sign of life. Returns false if the attempt is not the current one. */
  progress(execution: Execution, attempt: number, now: number): boolean {
    if (execution.state !== Status.running || execution.attempt !== attempt) return false;
    if (execution.terms.stallMs !== 0) execution.progressAt = now;
    return true;
  }

  /** Records that the attempt's work is done and its result is being kept; see {@link Lifecycle.keep}. */
  keep(execution: Execution, attempt: number, releases: boolean, now: number): void {
    if (execution.state === Status.running && execution.attempt === attempt)
      this.lifecycle.keep(execution, releases, now);
  }

  /** Restarts the attempt's time limits, because the work begins only now. */
  began(execution: Execution, attempt: number, now: number): void {
    if (!this.progress(execution, attempt, now)) return;
    execution.startedAt = now;
    this.dispatcher.holdersChanged();
  }

  /** Restarts time limits and rates when the attempt's function is called, which may be after its start. */
  called(execution: Execution, attempt: number, now: number): void {
    const { startedAt, demand } = execution;
    if (execution.attempt !== attempt) return;
    // Times are rounded down to whole milliseconds, so the call may come up to 1 ms later.
    demand.tool.rate?.postpone(startedAt, now + 1);
    demand.group.rate?.postpone(startedAt, now + 1);
    this.began(execution, attempt, now);
  }

  /** Records what attempts of a tool really used. Unclaimed needs follow it. `by` is the execution that was measured. */
  used(toolName: string, usages: readonly AttemptUsage[], by?: Execution): void {
    for (const usage of usages) checkUsage(usage);
    const tool = this.catalog.tool(toolName);
    tool.usage ??= new UsageModel();
    if (by !== undefined) tool.usage.noteClaim(by.heldNeeds, by.demand.learns);
    let hasChanged = false;
    for (const usage of usages) if (tool.usage.learn(usage)) hasChanged = true;
    if (hasChanged) this.renewNeeds(tool);
  }

  /** Returns the number of cancelled executions. Settled ones, and those whose result is being kept, do not count. */
  cancel(executions: readonly Execution[], reason: unknown, now: number): number {
    return this.lifecycle.end(executions, { kind: 'cancelled', reason }, now);
  }

  cancelGroup(group: Group, reason: unknown, now: number): void {
    this.lifecycle.endGroups([group], { kind: 'cancelled', reason }, now);
  }

  cancelAll(reason: unknown, now: number): void {
    const groups = [this.catalog.root, ...this.catalog.groups.values()];
    this.lifecycle.endGroups(groups, { kind: 'cancelled', reason }, now);
  }

  /** Stops starting executions, of one group or all. Running ones continue. */
  pause(group?: Group): void {
    if (group === undefined) this.dispatcher.isPaused = true;
    else group.isPaused = true;
    this.dispatcher.wakeAll();
  }

  resume(group?: Group): void {
    this.dispatcher.structureChanged();
    if (group === undefined) {
      this.dispatcher.isPaused = false;
    } else {
      group.isPaused = false;
      this.dispatcher.contest.wake(group.waiters);
    }
  }

  /** Ends every pause. */
  resumeAll(): void {
    this.resume();
    for (const group of this.catalog.groups.values()) this.resume(group);
  }

  /** Changes limits at run time. Running executions keep their resources; waiting ones are reconsidered. */
  limit(limits: SchedulerLimits): void {
    const { tools, groups, ...resources } = limits;
    const shared = [
      ...checkAllLimits('tool', tools, (name) => this.catalog.tool(name)),
      ...checkAllLimits('group', groups, (name) => this.catalog.group(name, this.now)),
    ];
    this.dispatcher.resources.setLimits(resources);
    // What was learned is never above a limit.
    for (const tool of this.catalog.tools.values()) if (tool.usage !== undefined) this.renewNeeds(tool);
    for (const { find, checked } of shared) {
      const target = find();
      target.isPinned = true;
      this.wakeRate(applySharedLimits(target, checked));
      this.dispatcher.contest.wake(target.waiters);
    }
    this.dispatcher.wakeAll();
  }

  /**
   * Places executions on workers from now on. Limits of resources then belong to each worker, so those of the whole are
   * lifted; limits of tools and groups stay.
   */
  usePlacement(placement: WorkerPlacement): void {
    const { resources } = this.dispatcher;
    this.dispatcher.placement = placement;
    placement.useAccounts(resources);
    const unlimited = (names: Iterable<string>) =>
      Object.fromEntries(Array.from(names, (name) => [name, Number.POSITIVE_INFINITY]));
    const { all, named } = resources.names;
    const builtIn = all.filter((name) => !named.has(name));
    this.limit({ ...unlimited(builtIn), resources: unlimited(named.keys()) });
  }

  /** Applies a change of the workers: one joined, drains, or left. Waiting executions are reconsidered. */
  changeWorkers(change: (placement: WorkerPlacement) => void): void {
    const { placement } = this.dispatcher;
    if (placement === undefined) throw internalError('There is no placement.');
    change(placement);
    this.dispatcher.workersChanged();
  }

  /** Frees the resources of a running execution while it waits for others. */
  lend(execution: Execution): void {
    if (execution.state !== Status.running) return;
    if (execution.room === 'held') this.dispatcher.lend(execution);
    else this.dispatcher.withdrawReclaim(execution);
  }

  /** Requests lent resources back; {@link Effects.resumed} is called once they are. */
  reclaim(execution: Execution): void {
    if (execution.state === Status.running && execution.room === 'lent') this.dispatcher.reclaim(execution);
  }

  /** Advances the time: handles expired limits, then starts everything that fits. */
  advance(now: number): void {
    this.now = now;
    this.timeouts.trim(this.lifecycle.counts[Status.running]!);
    while (this.nextWakeAt() <= now) {
      const due = this.takeDue(now);
      if (due instanceof RateLimit) this.dispatcher.contest.wake(due.waiters);
      else if (due instanceof Quota) this.dispatcher.onQuotaTimer(due, now);
      else if (due instanceof Group)
        this.lifecycle.endGroups([due], { kind: 'failed', failure: { reason: 'deadline' } }, now);
      else if (due !== undefined) this.lifecycle.onTimer(due as Execution, now);
    }
    const { outdated } = this.lifecycle;
    if (outdated.size > 0) {
      for (const group of outdated) this.lifecycle.renewPaths(group);
      outdated.clear();
    }
    this.dispatcher.dispatch(now, this.begin, this.resumed);
  }

  /** Records how long a tool took elsewhere, such as in an earlier process, if nothing is known of it here. */
  learn(toolName: string, durationsMs: readonly number[]): void {
    const { durations } = this.catalog.tool(toolName);
    if (!durations.isKnown) for (const ms of durationsMs) durations.learn(ms);
  }

  /** Whether a plan may help now. Cheap enough to be asked after every event. */
  get wantsPlan(): boolean {
    const { lifecycle, dispatcher } = this;
    const { counts } = lifecycle;
    const waiting = counts[Status.queued]! + counts[Status.pending]! + counts[Status.retrying]!;
    const unsettled = waiting + counts[Status.running]!;
    if (unsettled > MAX_PLANNED || waiting < 2 || this.isPlanOff) return false;
    // A plan knows no quotas.
    if (dispatcher.placement?.allowsPlan(unsettled) === false || !dispatcher.quotas.isEmpty) return false;
    if (dispatcher.structure !== this.draftedStructure) return true;
    if (dispatcher.plan !== undefined) return dispatcher.plan.isOutdated;
    return this.undraftedVersion >= 0 && this.undraftedVersion !== this.catalog.unknown.version;
  }

  /**
   * Drafts a plan of all unsettled executions; undefined if they cannot be planned, for example because a duration is
   * unknown, or if all of them together take less than `minGainMs` by estimate. Its search runs outside of the
   * scheduler, at any time; {@link adoptPlan} brings in the result.
   */
  draftPlan(now: number, minGainMs = 0): PlanDraft | undefined {
    const { catalog, dispatcher, lifecycle, stepMs } = this;
    this.draftedStructure = dispatcher.structure;
    const groups = [catalog.root, ...catalog.groups.values()];
    const unsettled = groups.flatMap((group) => group.unsettledMembers());
    const { counts } = lifecycle;
    const events =
      this.lastSeq +
      counts.reduce((sum, count, status) => sum + (isSettled(status as StatusCode) ? count : 0), 0);
    const effort = Math.min(1, Math.max(MIN_EFFORT, (events - this.draftedEvents) / unsettled.length));
    this.draftedEvents = events;
    const workMs = unsettled.reduce((sum, { meanMs }) => sum + meanMs, 0);
    const draft = workMs < minGainMs ? undefined : draftPlan(unsettled, dispatcher, stepMs, now, effort);
    dispatcher.plan?.reviewed();
    this.undraftedVersion = draft === undefined ? catalog.unknown.version : -1;
    return draft;
  }

  /** Whether nothing has happened since the draft that its plan does not foresee. */
  isCurrentDraft(draft: PlanDraft): boolean {
    return draft.structure === this.dispatcher.structure;
  }

  /**
   * Starts executions by the plan from now on, if it is better than list scheduling by estimate and nothing has happened
   * since its draft that it does not foresee. Returns whether it does.
   */
  adoptPlan(draft: PlanDraft): boolean {
    const { dispatcher } = this;
    if (!this.isCurrentDraft(draft)) return false;
    if (draft.search.isBetter) dispatcher.plan = new Plan(draft);
    else if (dispatcher.plan !== undefined) dispatcher.dropPlan();
    return draft.search.isBetter;
  }

  /** When `advance` must be called next if nothing else happens (never too late); Infinity for never. */
  nextWakeAt(): number {
    return Math.min(this.timers.firstKey, this.timeouts.earliest);
  }

  /** Undefined if the attempt that the time was noted for has ended. */
  private takeDue(now: number): Timed | undefined {
    const { timers, timeouts } = this;
    if (timeouts.earliest < timers.firstKey) return timeouts.takeBefore(Math.min(timers.firstKey, now + 1));
    const due = timers.peek()!;
    timers.clear(due);
    return due;
  }

  /** Executions that wait only for others of the new group are judged when those settle, so they are skipped here. */
  private acceptAll(
    executions: readonly Execution[],
    block: Block<Execution> | undefined,
    now: number,
  ): void {
    const { lifecycle } = this;
    for (let at = 0; at < executions.length; at++) lifecycle.accept(executions[at]!);
    if (block === undefined) {
      for (let at = 0; at < executions.length; at++) lifecycle.judge(executions[at]!, now);
      return;
    }
    const { nodes, older, waitingFor, order } = block;
    for (let at = 0; at < nodes.length; at++) {
      const place = order === undefined ? at : order[at]!;
      if (waitingFor[place] === 0 || older.length > 0) this.lifecycle.judge(nodes[place]!, now);
    }
  }

  /** Applies what was learned to the unclaimed needs of a tool's executions. */
  private renewNeeds(tool: ToolState): void {
    const { resources } = this.dispatcher;
    for (const demand of tool.classes) {
      if (demand.learns === 0) continue;
      const needs = tool.usage!.applyTo(demand.needs, demand.learns, resources.limits);
      if (needs.some((need, index) => need !== demand.needs[index]))
        this.dispatcher.changeNeeds(demand, needs);
    }
  }

  private isCurrent(execution: Execution, attempt: number, now: number): boolean {
    if (execution.attempt !== attempt) return false;
    if (execution.state === Status.running) return true;
    if (execution.graceUntil !== 0) this.lifecycle.attemptGone(execution, now);
    return false;
  }

  private wakeRate(rate: RateLimit | undefined): void {
    if (rate === undefined) return;
    this.timers.clear(rate);
    this.dispatcher.contest.wake(rate.waiters);
  }
}

function checkPlan(plan: unknown): void {
  if (plan === 'auto' || plan === 'off') return;
  throw new VolleyError('INVALID_VALUE', `plan must be auto or off, but it is ${show(plan)}.`);
}
