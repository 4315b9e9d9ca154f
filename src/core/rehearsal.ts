import { DemandClass } from './demand-class.ts';
import { type Distribution, GuessedDistribution, normal } from './durations.ts';
import type { Effects } from './effects.ts';
import { Execution } from './execution.ts';
import { Group } from './group.ts';
import { NumberHeap } from './number-heap.ts';
import { MAX_SPAN_MS } from './numbers.ts';
import { WorkerPlacement } from './placement.ts';
import type { Random } from './random.ts';
import { RateLimit } from './rate.ts';
import { Scheduler } from './scheduler.ts';
import { Status } from './status.ts';
import { DEFAULT_TERMS, type Terms } from './terms.ts';
import { ToolState } from './tool.ts';

/** The spread of the guess for a tool about which nothing is known but what other tools take. */
const UNKNOWN_SIGMA = 1;
/** In a rehearsal, nothing fails or times out. Estimates stay as they are. */
const TERMS: Terms = { ...DEFAULT_TERMS, timeoutMs: 0, policy: 'run' };
const KNOWN_TERMS: Terms = { ...TERMS, isEstimated: true };

/** Durations of the same origin: if what is known is wrong, all are too short or too long together. */
export interface DurationSource {
  distribution: Distribution;
  readonly isKnown: boolean;
  /** How long each running execution has been running, in units of the distribution. */
  readonly elapsed: number[];
  correction: number;
  /** The correction including the random part of one play. */
  factor: number;
}

/** One execution of a rehearsal. */
interface Role {
  readonly demand: DemandClass;
  readonly source: DurationSource;
  /** The value of 1 in the source: 1 ms, or the caller's estimate if the source holds ratios. */
  readonly unitMs: number;
  /** How long it has been running, or -1. */
  readonly elapsedMs: number;
  /** Whether its end counts; otherwise it merely competes. */
  readonly counts: boolean;
  /** The execution it copies; undefined if it stands for many. */
  readonly original: Execution | undefined;
  /** The indexes of its unsettled dependencies. */
  waitsFor: readonly number[];
}

/** The result of one play, in milliseconds from now. */
export interface Played {
  /** When the last execution that counts ended. */
  readonly endMs: number;
  /** When the last execution started: until then, there was always something to start. */
  readonly lastStartMs: number;
  /** The total running time of all executions, and the part before the last start. */
  readonly workMs: number;
  readonly workBeforeLastStartMs: number;
  /** How much longer each running execution took, in the order they were added. */
  readonly leftMs: readonly number[];
}

/** Plays the remaining work many times on copies of the scheduler, with durations drawn from what was learned. */
export class Rehearsal {
  readonly roles: Role[] = [];
  /** One in so many workers takes part. */
  workerStep = 1;
  private readonly sources = new Map<ToolState, { seen?: DurationSource; own?: DurationSource }>();

  constructor(
    private readonly scheduler: Scheduler,
    private readonly now: number,
  ) {}

  /** Adds an unsettled execution in its current state. */
  add(original: Execution, counts: boolean): void {
    const { demand, ownEstimateMs, state, startedAt, isSaving } = original;
    const isOwn = ownEstimateMs !== 0;
    const source = this.source(demand.tool, isOwn ? 'own' : 'seen');
    const unitMs = isOwn ? ownEstimateMs : 1;
    const elapsedMs = state === Status.running ? this.now - startedAt : -1;
    if (elapsedMs >= 0 && !isSaving) source.elapsed.push(elapsedMs / unitMs);
    this.roles.push({ demand, source, unitMs, elapsedMs, counts, original, waitsFor: [] });
  }

  /** The durations of a tool, or their ratios to the callers' estimates. */
  source(tool: ToolState, kind: 'seen' | 'own'): DurationSource {
    const known = this.sources.get(tool) ?? {};
    this.sources.set(tool, known);
    known[kind] ??= makeSource(
      kind === 'own' ? tool.durations.ratioToEstimate() : tool.durations.distribution(),
    );
    return known[kind];
  }

  /** Call this after everything is added. Returns false if no duration is known. */
  prepare(): boolean {
    const sources = [...this.sources.values()].flatMap(({ seen, own }) => [seen ?? [], own ?? []].flat());
    const known = sources.filter(({ isKnown }) => isKnown);
    for (const source of known) source.correction = source.distribution.correctionFor(source.elapsed);
    // A tool without samples is assumed to take as long as the others on average.
    const logs = known.map(({ distribution }) => Math.log(Math.max(1, distribution.mean)));
    const median = Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
    for (const source of sources)
      if (!source.isKnown) source.distribution = new GuessedDistribution(median, UNKNOWN_SIGMA);
    const places = new Map(this.roles.map(({ original }, place) => [original, place]));
    for (const role of this.roles)
      role.waitsFor = role.original?.dependencies?.flatMap((other) => places.get(other) ?? []) ?? [];
    return known.length > 0;
  }

  /**
   * On a smaller `scale`, 1 to n, each execution stands for n: its duration is as close to the mean as the mean of n
   * durations would be. A running execution stands for itself alone, so for an nth of its time.
   */
  play(random: Random, scale = 1): Played {
    for (const { seen, own } of this.sources.values()) {
      if (seen !== undefined) drawFactor(seen, random);
      if (own !== undefined) drawFactor(own, random);
    }
    return new Play(this.scheduler, this.roles, this.now, random, scale, this.workerStep).run();
  }
}

function makeSource(distribution: Distribution | undefined): DurationSource {
  return {
    distribution: distribution ?? new GuessedDistribution(1, UNKNOWN_SIGMA),
    isKnown: distribution !== undefined,
    elapsed: [],
    correction: 1,
    factor: 1,
  };
}

/** The known mean may be wrong, and then it is wrong for the whole source. */
function drawFactor(source: DurationSource, random: Random): void {
  const variance = Math.log(1 + source.distribution.relativeError ** 2);
  source.factor = source.correction * Math.exp(Math.sqrt(variance) * normal(random) - variance / 2);
}

class PlayedExecution extends Execution {
  constructor(
    readonly role: Role,
    seq: number,
  ) {
    super();
    this.seq = seq;
    this.terms = TERMS;
  }
}

/** One play: a copy of the scheduler on virtual time. */
class Play implements Effects {
  private readonly copy: Scheduler;
  private readonly executions: PlayedExecution[];
  private readonly demands = new Map<DemandClass, DemandClass>();
  private readonly tools = new Map<ToolState, ToolState>();
  private readonly groups = new Map<Group, Group>();
  /** The ends of running attempts and of retry pauses. */
  private readonly agenda = new NumberHeap();
  private now: number;
  private workMs = 0;
  private lastStartAt: number;
  private workBeforeLastStartMs = 0;
  private readonly leftMs: number[] = [];

  constructor(
    private readonly scheduler: Scheduler,
    roles: readonly Role[],
    private readonly startAt: number,
    private readonly random: Random,
    private readonly scale: number,
    private readonly workerStep: number,
  ) {
    this.now = startAt;
    this.lastStartAt = startAt;
    this.copy = new Scheduler(this, {
      ageingMs: scheduler.stepMs,
      // Executions that stand for many have no true order, so nothing is reserved for them.
      reserveAfterMs: scale === 1 ? scheduler.dispatcher.reserveAfterMs : MAX_SPAN_MS,
      retainSettled: 0,
    });
    const { names } = scheduler.dispatcher.resources;
    const unlimited = Array.from(names.named.keys(), (name) => [name, Number.POSITIVE_INFINITY]);
    if (unlimited.length > 0) this.copy.limit({ resources: Object.fromEntries(unlimited) });
    this.executions = roles.map((role, index) => this.copyOf(role, index + 1));
  }

  run(): Played {
    const { copy, agenda, executions } = this;
    const { counts } = copy.lifecycle;
    this.link();
    for (const execution of executions) copy.lifecycle.accept(execution);
    this.resumeRunning();
    this.copyLimits();
    this.copyWorkers();
    this.queueWaiting();
    let endAt = this.startAt;
    for (;;) {
      copy.advance(this.now);
      const at = Math.min(agenda.firstKey, copy.nextWakeAt());
      if (at === Number.POSITIVE_INFINITY) break;
      this.workMs += counts[Status.running]! * (at - this.now);
      this.now = at;
      while (agenda.firstKey <= at) {
        const execution = executions[agenda.first]!;
        agenda.dropFirst();
        if (execution.state === Status.running) {
          copy.succeed(execution, execution.attempt, at);
          if (execution.role.counts) endAt = at;
        } else {
          copy.lifecycle.judge(execution, at);
        }
      }
    }
    const { workMs, workBeforeLastStartMs, leftMs } = this;
    const lastStartMs = this.lastStartAt - this.startAt;
    return { endMs: endAt - this.startAt, lastStartMs, workMs, workBeforeLastStartMs, leftMs };
  }

  start(execution: PlayedExecution): void {
    const { elapsedMs, source, unitMs, original } = execution.role;
    const unit = source.factor * unitMs;
    let durationMs: number;
    if (original?.isSaving === true) {
      durationMs = 0;
      this.leftMs.push(0);
    } else if (elapsedMs >= 0) {
      const leftMs = unit * source.distribution.drawBeyond(elapsedMs / unit, this.random) - elapsedMs;
      this.leftMs.push(Math.max(0, leftMs));
      durationMs = leftMs / this.scale;
    } else {
      const { counts } = this.copy.lifecycle;
      // Single executions decide when the end comes: the last ones never stand for many.
      const isNearEnd = counts[Status.queued]! < 2 * (counts[Status.running]! - 1);
      const { mean } = source.distribution;
      const deviation = source.distribution.draw(this.random) - mean;
      durationMs = unit * (mean + (isNearEnd ? deviation : deviation / Math.sqrt(this.scale)));
      this.lastStartAt = this.now;
      this.workBeforeLastStartMs = this.workMs;
    }
    this.agenda.add(this.now + Math.max(0, durationMs), execution.seq, execution.seq - 1);
  }

  stop(): void {}
  settled(): void {}
  retrying(): void {}
  released(): void {}
  abandoned(): void {}
  resumed(): void {}

  private copyOf(role: Role, seq: number): PlayedExecution {
    const execution = new PlayedExecution(role, seq);
    execution.demand = this.demandOf(role.demand);
    const { original } = role;
    if (original === undefined) return execution;
    execution.level = original.level;
    execution.urgentBy = original.urgentBy;
    execution.pathMs = original.pathMs;
    execution.estimateMs = original.expectedMs;
    if (original.isEstimateKnown) execution.terms = KNOWN_TERMS;
    if (original.claims !== undefined) {
      const locks = original.claims.map(({ lock, exclusive }) => ({ name: lock.name, exclusive }));
      execution.claims = this.copy.dispatcher.resources.locks.claim(locks);
    }
    return execution;
  }

  private demandOf(original: DemandClass): DemandClass {
    const { tool, group, needs, conflicts, on } = original;
    return once(this.demands, original, () => {
      const others = conflicts.map((other) => this.toolOf(other));
      return new DemandClass(
        this.toolOf(tool),
        once(this.groups, group, () => new Group(group.name, 0)),
        needs,
        others,
        this.copy.stepMs,
        0,
        on,
      );
    });
  }

  private toolOf(original: ToolState): ToolState {
    return once(this.tools, original, () => new ToolState(original.name));
  }

  private link(): void {
    const { executions } = this;
    const edges = executions.map(({ role }) => ({
      dependsOn: role.waitsFor.map((place) => executions[place]!),
    }));
    if (edges.some(({ dependsOn }) => dependsOn.length > 0)) this.copy.graph.addAll(executions, edges);
  }

  /**
   * Runs before limits are set, because they may have been lowered since. Executions that lent their resources must not
   * block the others.
   */
  private resumeRunning(): void {
    const isLent = ({ role }: PlayedExecution) => role.original!.room === 'lent';
    const running = this.executions.filter(({ role }) => role.elapsedMs >= 0);
    for (const execution of running.filter(isLent)) {
      this.queue(execution);
      this.copy.advance(this.now);
      this.copy.lend(execution);
    }
    for (const execution of running) if (!isLent(execution)) this.queue(execution);
    this.copy.advance(this.now);
  }

  /** Treats a pause as over, and raises a limit below a demand: otherwise there is no end to predict. */
  private copyLimits(): void {
    const { limits } = this.copy.dispatcher.resources;
    this.scheduler.dispatcher.resources.limits.forEach((limit, index) => {
      limits[index] = limit;
    });
    for (const { needs } of this.demands.values())
      for (let index = 0; index < needs.length; index++)
        limits[index] = Math.max(limits[index]!, needs[index]!);
    for (const [original, tool] of this.tools) copyShared(original, tool);
    for (const [original, group] of this.groups) copyShared(original, group);
  }

  /** What runs stays where it is. What fits on no worker is treated as if one joined that is just large enough. */
  private copyWorkers(): void {
    const { placement } = this.scheduler.dispatcher;
    if (placement === undefined) return;
    const copy = new WorkerPlacement(placement.rule);
    this.copy.usePlacement(copy);
    copy.copyWorkers(placement.sample(this.workerStep));
    for (const execution of this.executions) {
      const worker = copy.workers.get(execution.role.original?.worker ?? '');
      if (execution.room === 'held' && worker !== undefined) copy.takeOn(worker, execution);
    }
    for (const demand of this.demands.values()) copy.makePossible(demand);
  }

  private queueWaiting(): void {
    for (const execution of this.executions) {
      const { original, elapsedMs } = execution.role;
      if (elapsedMs >= 0) continue;
      const retryAt =
        original?.state === Status.retrying ? Math.max(original.retryAt, original.graceUntil) : 0;
      const startsAt = Math.max(retryAt, this.pausedUntil(original));
      if (startsAt > this.now) this.agenda.add(startsAt, execution.seq, execution.seq - 1);
      else if (execution.waitingFor === 0) this.queue(execution);
    }
  }

  /** When a quota that keeps it from starting opens again; 0 if none does. What follows is not predicted. */
  private pausedUntil(original: Execution | undefined): number {
    const { quotas } = this.scheduler.dispatcher;
    if (quotas.isEmpty || original === undefined || original.waitingFor > 0) return 0;
    return quotas.isOpen(original.demand, this.now) ? 0 : quotas.blocking(original.demand)!.until;
  }

  private queue(execution: PlayedExecution): void {
    this.copy.lifecycle.judge(execution, this.now);
  }
}

function copyShared(from: ToolState | Group, to: ToolState | Group): void {
  to.maxConcurrency = from.maxConcurrency;
  if (from.rate === undefined) return;
  to.rate = new RateLimit(from.rate.owner, from.rate.count, from.rate.perMs);
  to.rate.continueFrom(from.rate);
}

function once<K, V>(made: Map<K, V>, key: K, make: () => V): V {
  let value = made.get(key);
  if (value === undefined) {
    value = make();
    made.set(key, value);
  }
  return value;
}
