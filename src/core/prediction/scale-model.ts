import { CONCURRENCY, SCALE } from '../demand.ts';
import type { DemandClass } from '../demand-class.ts';
import type { Execution } from '../execution.ts';
import type { LockTable } from '../locks.ts';
import type { Random } from '../random.ts';
import type { Scheduler } from '../scheduler.ts';
import { Status } from '../status.ts';
import { normal } from './distribution.ts';
import { Plan, type PlannedNeeds, type Source } from './plan.ts';
import { PlanPlayer, type Played } from './plan-player.ts';

/** How many stand-ins there are, and how many for each slot: it takes some waves of them to see a mean. */
const FEWEST_STAND_INS = 400;
const MAX_STAND_INS = 1500;
const WAVES = 3;
/** How sharply the longer of two bounds decides; where both are about equal, the truth is somewhat longer than both. */
const SHARPNESS = 8;
/** How many classes there are in the model at most; of more, every so many stands for those around it. */
const MAX_CLASSES = 200;
/** How many running executions and how many locks are looked at one by one. */
const MAX_RUNNING = 1000;
const MAX_LOCKS = 100;

/** Executions of one class. */
export interface Share {
  readonly demand: DemandClass;
  readonly count: number;
}

/** Executions of one class that have not started and whose durations have the same origin. */
interface Part {
  readonly needs: PlannedNeeds;
  readonly source: Source;
  readonly count: number;
  readonly standIns: number;
  readonly estimateMs: number;
}

interface Started {
  /** Its place in the plan. */
  readonly place: number;
  /** The longest path of what waits for it, by estimates. */
  readonly behindMs: number;
}

/**
 * Many executions as a scale model: for each class a few stand-ins, in proportion, each as even as the mean of those
 * it stands for. Playing it shows how many run at once, on average, under all the limits. All the work divided by that
 * is the time it takes, unless the longest path takes longer. The cost depends on the number of classes, not on the
 * number of executions.
 */
export class ScaleModel {
  readonly plan: Plan;
  private readonly player: PlanPlayer;
  private readonly parts: Part[] = [];
  private readonly started: Started[] = [];
  /** How many have not started, and how many of them could start at once at most. */
  private readonly waiting: number;
  private readonly slots: number;
  /** The expected work of those that have not started, and of their stand-ins. */
  private readonly workMs: number;
  private readonly standInWorkMs: number;
  /** How much longer durations are than the estimates that paths are made of. */
  private readonly overEstimate: number;
  /** The variance of a duration, as a share of the square of the mean. */
  private readonly spread: number;
  /** The longest path of what has not started, by estimates. */
  private readonly pathMs: number;

  constructor(
    scheduler: Scheduler,
    shares: readonly Share[],
    now: number,
    /** How many ran at once on average so far, where that is known. */
    private readonly observedParallel?: number,
  ) {
    const { resources, holders } = scheduler.dispatcher;
    this.plan = new Plan(resources, now);
    const startedOf = new Map(shares.map(({ demand }) => [demand, 0]));
    for (const execution of holders.slice(0, MAX_RUNNING)) {
      const { demand, state } = execution;
      if (state !== Status.running || !startedOf.has(demand)) continue;
      startedOf.set(demand, startedOf.get(demand)! + 1);
      this.addStarted(execution, now);
    }
    const waiting = shares
      .map(({ demand, count }) => ({ demand, count: count - startedOf.get(demand)! }))
      .filter(({ count }) => count > 0);
    this.waiting = sum(waiting, ({ count }) => count);
    this.slots = Math.min(this.waiting, resources.limits[CONCURRENCY]! / SCALE);
    for (const share of representatives(waiting, this.waiting)) this.addClass(share);
    this.addStandIns();
    this.plan.weigh();
    this.player = new PlanPlayer(this.plan);

    const { parts } = this;
    this.workMs = sum(parts, (part) => part.count * meanMs(part));
    this.standInWorkMs = sum(parts, (part) => part.standIns * meanMs(part));
    this.overEstimate = ratio(
      this.workMs,
      sum(parts, (part) => part.count * part.estimateMs),
    );
    const variance = sum(
      parts,
      ({ needs, source, count }) => count * source.distribution.variance * needs.unitMs ** 2,
    );
    this.spread = ratio(variance * this.waiting, this.workMs ** 2);
    this.pathMs = Math.max(longestQueued(shares), longestLocked(resources.locks, startedOf));
  }

  /** What all plays have cost so far. */
  get steps(): number {
    return this.player.steps;
  }

  /** How long all of it takes, or until the last of it has started, if chance decides like this. */
  play(random: Random, until: 'end' | 'last-start' = 'end'): number {
    const scale = ratio(this.workMs, this.standInWorkMs);
    const played = this.player.play(random, scale);
    const { endMs, lastStartMs, workBeforeLastStartMs } = played;
    const workMs = scale * played.workMs;
    const atLastStartMs = played.workMs - workBeforeLastStartMs;
    const parallel =
      workBeforeLastStartMs > 0 ? workBeforeLastStartMs / lastStartMs : Math.max(1, this.slots);
    const allStartedMs = this.waiting === 0 ? 0 : Math.max(0, workMs - atLastStartMs) / parallel;
    if (until === 'last-start') return allStartedMs;
    const byWorkMs = this.waiting === 0 ? 0 : allStartedMs + endMs - lastStartMs;
    const byPathMs = this.longestPath(played, scale, random);
    const eitherMs = (byWorkMs ** SHARPNESS + byPathMs ** SHARPNESS) ** (1 / SHARPNESS);
    if (this.observedParallel === undefined) return eitherMs;
    // Dependencies may keep slots empty even where work and path alone would not, but not for longer than the path.
    const byObservedMs = workMs / this.observedParallel + endMs - lastStartMs;
    return Math.max(eitherMs, Math.min(byObservedMs, byWorkMs + byPathMs * (1 - 1 / parallel)));
  }

  private longestPath(played: Played, scale: number, random: Random): number {
    const { leftMs } = this.player;
    const startedWorkMs = sum(this.started, ({ place }) => leftMs[place]!) / scale;
    const longer = this.overEstimate * ratio(played.workMs - startedWorkMs, this.standInWorkMs);
    const chance = normal(random);
    let longestMs = this.pathTakes(this.pathMs * longer, chance);
    for (const { place, behindMs } of this.started) {
      longestMs = Math.max(longestMs, leftMs[place]! + this.pathTakes(behindMs * longer, chance));
    }
    return longestMs;
  }

  /** What a path takes whose mean is known: a long one is as even as the mean of its parts. */
  private pathTakes(pathMs: number, chance: number): number {
    if (pathMs === 0 || this.workMs === 0) return pathMs;
    const steps = Math.max(1, (pathMs * this.waiting) / this.workMs);
    const sigma2 = Math.log1p(this.spread / steps);
    return pathMs * Math.exp(Math.sqrt(sigma2) * chance - sigma2 / 2);
  }

  private addClass({ demand, count }: Share): void {
    const own = Math.min(count, demand.estimated);
    if (own < count) this.addPart(demand, 'seen', count - own, demand.tool.durations.estimateMs());
    if (own > 0) this.addPart(demand, 'own', own, demand.estimatedMs / demand.estimated);
  }

  private addPart(demand: DemandClass, kind: 'seen' | 'own', count: number, estimateMs: number): void {
    const { plan, waiting } = this;
    const source = plan.sourceOf(demand.tool, kind);
    const needs = { class: plan.classOf(demand), source, unitMs: kind === 'own' ? estimateMs : 1 };
    const allStandIns = Math.min(waiting, MAX_STAND_INS, Math.max(FEWEST_STAND_INS, WAVES * this.slots));
    const standIns = Math.max(1, Math.round((allStandIns * count) / waiting));
    this.parts.push({ needs, source: plan.sources[source]!, count, standIns, estimateMs });
  }

  /** All classes mixed, each spread evenly: that is closest to all the orders that dependencies may bring about. */
  private addStandIns(): void {
    const order = this.parts.flatMap(({ needs, standIns }) =>
      Array.from({ length: standIns }, (_, index) => ({ needs, at: (index + 0.5) / standIns })),
    );
    order.sort((a, b) => a.at - b.at);
    for (const { needs } of order) this.plan.add(needs);
  }

  private addStarted({ demand, startedAt, estimateMs, pathMs, ownEstimateMs }: Execution, now: number): void {
    const { plan } = this;
    const isOwn = ownEstimateMs !== 0;
    const source = plan.sourceOf(demand.tool, isOwn ? 'own' : 'seen');
    this.started.push({ place: plan.executions.length, behindMs: pathMs - estimateMs });
    plan.add(
      { class: plan.classOf(demand), source, unitMs: isOwn ? ownEstimateMs : 1 },
      { elapsedMs: now - startedAt, holdsRoom: true, pauseMs: 0, counts: true, dependents: [] },
    );
  }
}

/** A bounded number of the classes, which stand for as many executions as all of them. */
function representatives(shares: readonly Share[], total: number): readonly Share[] {
  if (shares.length <= MAX_CLASSES) return shares;
  const chosen = Array.from(
    { length: MAX_CLASSES },
    (_, index) => shares[Math.floor((index * shares.length) / MAX_CLASSES)]!,
  );
  const factor = total / sum(chosen, ({ count }) => count);
  return chosen.map(({ demand, count }) => ({ demand, count: count * factor }));
}

function meanMs({ needs, source }: Part): number {
  return source.distribution.mean * needs.unitMs;
}

function longestQueued(shares: readonly Share[]): number {
  let longestMs = 0;
  for (const { demand } of shares) longestMs = Math.max(longestMs, demand.head?.pathMs ?? 0);
  return longestMs;
}

/** Those that need the same lock for themselves run one after the other, which makes them a path. */
function longestLocked(locks: LockTable, classes: ReadonlyMap<DemandClass, unknown>): number {
  let longestMs = 0;
  let looked = 0;
  for (const lock of locks) {
    if (++looked > MAX_LOCKS) break;
    const first = lock.first() as Execution | undefined;
    if (first === undefined || !lock.claimOf(first).exclusive || !classes.has(first.demand)) continue;
    longestMs = Math.max(longestMs, lock.claims * first.estimateMs);
  }
  return longestMs;
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

/** Where there is nothing to compare, nothing is changed. */
function ratio(a: number, b: number): number {
  return b === 0 ? 1 : a / b;
}
