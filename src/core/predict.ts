import { CONCURRENCY, SCALE } from './demand.ts';
import type { DemandClass } from './demand-class.ts';
import { normal } from './durations.ts';
import type { Execution } from './execution.ts';
import type { Group } from './group.ts';
import type { LockTable } from './locks.ts';
import type { Random } from './random.ts';
import { goesBefore } from './ready-queue.ts';
import { type DurationSource, type Played, Rehearsal } from './rehearsal.ts';
import type { Scheduler } from './scheduler.ts';
import { Status } from './status.ts';
import { rankOf } from './urgency.ts';

/** How long it will still take. In four of five cases the truth lies between `lowMs` and `highMs`. */
export interface TimeLeft {
  readonly lowMs: number;
  /** The truth is as likely to be longer as to be shorter. */
  readonly expectedMs: number;
  readonly highMs: number;
}

/** How many executions all plays of a prediction may run together: it bounds their time to some milliseconds. */
const MAX_PLAYED = 10_000;
const MIN_PLAYS = 24;
const MAX_PLAYS = 100;
/** Up to so many unsettled executions each of them is played; beyond, some stand for many. */
const MAX_COPIED = 400;
/** How many stand for all, and how many for each slot: it takes some waves of them to see a mean. */
const MIN_STAND_INS = 300;
const MAX_STAND_INS = 1000;
const WAVES = 3;
/** How many classes, running executions and locks are looked at one by one. Of more classes, every so many is. */
const MAX_CLASSES = 200;
const MAX_RUNNING = 1000;
const MAX_LOCKS = 100;
/** How sharply the longer of two bounds decides; where both are about equal, the truth is somewhat longer than both. */
const SHARPNESS = 8;
/** From so many completed executions on it is looked at how many of the group ran at once. */
const MIN_OBSERVED = 20;

/**
 * How long a group, or everything, will still take, as a range; undefined while nothing at all is known of the
 * durations. Those are what the tools took before or what callers expect, corrected by how that came true before.
 *
 * What is left is played many times by copies of the scheduler, with durations drawn by chance: conditional on the time
 * that a running execution has taken so far, and uncertain as a whole where little was seen. It knows nothing of
 * failures and of what will be submitted later, a pause counts as over, and a limit that was lowered below a demand as
 * raised again. The cost is bounded, however much is left.
 */
export function predictRemaining(
  scheduler: Scheduler,
  group: Group | undefined,
  now: number,
  random: Random,
): TimeLeft | undefined {
  const { counts } = scheduler.lifecycle;
  const total =
    counts[Status.pending]! + counts[Status.queued]! + counts[Status.running]! + counts[Status.retrying]!;
  if ((group === undefined ? total : group.unsettled) === 0) return { lowMs: 0, expectedMs: 0, highMs: 0 };
  const rehearsal = new Rehearsal(scheduler, now);
  const play =
    total <= MAX_COPIED ? copyAll(rehearsal, scheduler, group) : scaleDown(rehearsal, scheduler, group, now);
  if (play === undefined) return undefined;
  const plays = Math.min(MAX_PLAYS, Math.max(MIN_PLAYS, Math.ceil(MAX_PLAYED / rehearsal.roles.length)));
  const ends = Array.from({ length: plays }, () => play(random)).sort((a, b) => a - b);
  const at = (share: number) => Math.round(quantile(ends, share));
  return { lowMs: at(0.1), expectedMs: at(0.5), highMs: at(0.9) };
}

/** The value below which a new one lies with the given probability, between two of the sorted values. */
function quantile(sorted: readonly number[], share: number): number {
  const at = Math.max(0, Math.min(sorted.length - 1, share * (sorted.length + 1) - 1));
  const low = Math.floor(at);
  const high = Math.min(sorted.length - 1, low + 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}

/** Plays one possible future and returns how long it takes. */
type Play = (random: Random) => number;

/** Every unsettled execution plays itself. */
function copyAll(rehearsal: Rehearsal, scheduler: Scheduler, group: Group | undefined): Play | undefined {
  const executions = allGroups(scheduler).flatMap((each) => [...each.unsettledMembers()]);
  executions.sort((a, b) => a.seq - b.seq);
  for (const execution of executions)
    rehearsal.add(execution, group === undefined || execution.demand.group === group);
  return rehearsal.prepare() ? (random) => rehearsal.play(random).endMs : undefined;
}

/** Executions of one class. */
interface Share {
  readonly demand: DemandClass;
  readonly count: number;
}

/** Executions of one class that have not started and whose durations have the same origin. */
interface Part extends Share {
  readonly source: DurationSource;
  readonly unitMs: number;
  readonly estimateMs: number;
  readonly standIns: number;
}

/**
 * Many executions on a smaller scale: for each class a few that stand for all, in proportion, each as even as the mean
 * of those it stands for. Playing them shows how many run at once, on average, under all the limits. All the work
 * divided by that is the time it takes, unless the longest path takes longer. The cost depends on the number of classes,
 * not on the number of executions.
 */
function scaleDown(
  rehearsal: Rehearsal,
  scheduler: Scheduler,
  group: Group | undefined,
  now: number,
): Play | undefined {
  const { resources, holders } = scheduler.dispatcher;
  const shares =
    group === undefined
      ? allGroups(scheduler).flatMap(sharesOf)
      : [...sharesBefore(scheduler, group), ...sharesOf(group)];
  const startedOf = new Map<DemandClass, number>();
  for (const execution of holders.slice(0, MAX_RUNNING)) {
    const { demand, state } = execution;
    if (state !== Status.running) continue;
    startedOf.set(demand, (startedOf.get(demand) ?? 0) + 1);
    rehearsal.add(execution, group === undefined || demand.group === group);
  }
  const started = rehearsal.roles.map(({ original }) => original!);
  const waitingShares = shares
    .map(({ demand, count }) => ({ demand, count: count - (startedOf.get(demand) ?? 0) }))
    .filter(({ count }) => count > 0);
  const waiting = sum(waitingShares, ({ count }) => count);
  const slots = Math.min(waiting, resources.limits[CONCURRENCY]! / SCALE);
  const standIns = Math.min(waiting, MAX_STAND_INS, Math.max(MIN_STAND_INS, WAVES * slots));
  const parts = representatives(waitingShares, waiting).flatMap((share) =>
    partsOf(rehearsal, share, standIns / waiting),
  );
  addStandIns(rehearsal, parts);
  if (!rehearsal.prepare()) return undefined;

  const meanMs = ({ source, unitMs }: Part) => source.distribution.mean * unitMs;
  const totalWorkMs = sum(parts, (part) => part.count * meanMs(part));
  const standInWorkMs = sum(parts, (part) => part.standIns * meanMs(part));
  const scale = ratio(totalWorkMs, standInWorkMs);
  /** How much longer durations are than the estimates that paths are made of. */
  const overEstimate = ratio(
    totalWorkMs,
    sum(parts, ({ count, estimateMs }) => count * estimateMs),
  );
  const variance = sum(
    parts,
    ({ source, unitMs, count }) => count * source.distribution.variance * unitMs ** 2,
  );
  /** The variance of a duration, as a share of the square of the mean. */
  const spread = ratio(variance * waiting, totalWorkMs ** 2);
  const pathMs = Math.max(longestQueued(shares), longestLocked(resources.locks, shares));
  const observed = group === undefined ? undefined : observedParallelism(scheduler, group, now);

  /** What a path takes whose mean is known: a long one is as even as the mean of its parts. */
  const pathTakes = (meanPathMs: number, chance: number): number => {
    if (meanPathMs === 0 || totalWorkMs === 0) return meanPathMs;
    const steps = Math.max(1, (meanPathMs * waiting) / totalWorkMs);
    const sigma2 = Math.log1p(spread / steps);
    return meanPathMs * Math.exp(Math.sqrt(sigma2) * chance - sigma2 / 2);
  };

  const longestPath = ({ workMs, leftMs }: Played, random: Random): number => {
    const startedWorkMs = sum(leftMs, (ms) => ms) / scale;
    const longer = overEstimate * ratio(workMs - startedWorkMs, standInWorkMs);
    const chance = normal(random);
    return started.reduce(
      (longestMs, execution, index) =>
        Math.max(
          longestMs,
          leftMs[index]! + pathTakes((execution.pathMs - execution.estimateMs) * longer, chance),
        ),
      pathTakes(pathMs * longer, chance),
    );
  };

  return (random) => {
    const played = rehearsal.play(random, scale);
    const { endMs, lastStartMs, workBeforeLastStartMs } = played;
    const byPathMs = longestPath(played, random);
    if (waiting === 0) return byPathMs;
    const workMs = scale * played.workMs;
    const workAtLastStartMs = played.workMs - workBeforeLastStartMs;
    const parallel = workBeforeLastStartMs > 0 ? workBeforeLastStartMs / lastStartMs : Math.max(1, slots);
    const tailMs = endMs - lastStartMs;
    const byWorkMs = Math.max(0, workMs - workAtLastStartMs) / parallel + tailMs;
    const eitherMs = (byWorkMs ** SHARPNESS + byPathMs ** SHARPNESS) ** (1 / SHARPNESS);
    if (observed === undefined) return eitherMs;
    // Dependencies may keep slots empty even where work and path alone would not, but not for longer than the path.
    return Math.max(eitherMs, Math.min(workMs / observed + tailMs, byWorkMs + byPathMs * (1 - 1 / parallel)));
  };
}

function partsOf(rehearsal: Rehearsal, { demand, count }: Share, standInShare: number): Part[] {
  const { tool, estimated, estimatedMs } = demand;
  const own = Math.min(count, estimated);
  const part = (kind: 'seen' | 'own', size: number, estimateMs: number): Part => ({
    demand,
    count: size,
    source: rehearsal.source(tool, kind),
    unitMs: kind === 'own' ? estimateMs : 1,
    estimateMs,
    standIns: Math.max(1, Math.round(size * standInShare)),
  });
  return [
    ...(own < count ? [part('seen', count - own, tool.durations.estimateMs())] : []),
    ...(own > 0 ? [part('own', own, estimatedMs / estimated)] : []),
  ];
}

/** All classes mixed, each spread evenly: that is closest to all the orders that dependencies may bring about. */
function addStandIns(rehearsal: Rehearsal, parts: readonly Part[]): void {
  const order = parts.flatMap((part) =>
    Array.from({ length: part.standIns }, (_, index) => ({ part, at: (index + 0.5) / part.standIns })),
  );
  order.sort((a, b) => a.at - b.at);
  for (const { part } of order) {
    const { demand, source, unitMs } = part;
    rehearsal.roles.push({
      demand,
      source,
      unitMs,
      elapsedMs: -1,
      counts: true,
      original: undefined,
      waitsFor: [],
    });
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

function allGroups({ catalog }: Scheduler): Group[] {
  return [catalog.root, ...catalog.groups.values()];
}

function sharesOf({ classes }: Group): Share[] {
  return classes
    .filter(({ unsettled }) => unsettled > 0)
    .map((demand) => ({ demand, count: demand.unsettled }));
}

/** What of other groups goes before the last of the group. Of those that are not queued it is taken to be the same part. */
function sharesBefore(scheduler: Scheduler, group: Group): Share[] {
  const last = lastToStart(scheduler, group);
  const others = allGroups(scheduler).filter((other) => other !== group);
  return others.flatMap(sharesOf).flatMap(({ demand, count }) => {
    const { queue } = demand;
    const before = queue.size === 0 ? 0 : Math.round((count * queue.countBefore(last)) / queue.size);
    return before === 0 ? [] : [{ demand, count: before }];
  });
}

/** The rank of the last of a small group; of a large one, that of the newest. */
function lastToStart({ stepMs }: Scheduler, group: Group): { rank: number; seq: number } {
  const rankedOf = (execution: Execution) => ({ rank: rankOf(execution, stepMs), seq: execution.seq });
  const newest = rankedOf(group.newest()!);
  if (group.unsettled > MAX_COPIED) return newest;
  const ranked = [...group.unsettledMembers()].map(rankedOf);
  return ranked.reduce((last, each) => (goesBefore(last, each) ? each : last), newest);
}

/** How many of the group ran at once so far, where dependencies may have kept slots empty and it runs alone. */
function observedParallelism(
  { dispatcher, lifecycle }: Scheduler,
  group: Group,
  now: number,
): number | undefined {
  const { counts, createdAt } = group;
  const isAlone = counts[Status.queued] === lifecycle.counts[Status.queued];
  if (
    !isAlone ||
    counts[Status.pending] === 0 ||
    counts[Status.completed]! < MIN_OBSERVED ||
    now === createdAt
  )
    return undefined;
  return (group.workMs + sum(dispatcher.holders, ({ startedAt }) => now - startedAt)) / (now - createdAt);
}

function longestQueued(shares: readonly Share[]): number {
  return shares.reduce((longestMs, { demand }) => Math.max(longestMs, demand.head?.pathMs ?? 0), 0);
}

/** Those that need the same lock for themselves run one after the other, which makes them a path. */
function longestLocked(locks: LockTable, shares: readonly Share[]): number {
  const classes = new Set(shares.map(({ demand }) => demand));
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
