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

/** The remaining time. The true value is between `lowMs` and `highMs` four times out of five. */
export interface TimeLeft {
  readonly lowMs: number;
  /** The median. */
  readonly expectedMs: number;
  readonly highMs: number;
}

/** The most executions that all plays of a prediction may run; bounds its time to some milliseconds. */
const MAX_PLAYED = 10_000;
const MIN_PLAYS = 24;
const MAX_PLAYS = 100;
/** Up to this many unsettled executions are played individually; beyond that, some stand for many. */
const MAX_COPIED = 400;
/** How many represent all executions, and how many per slot: a mean needs several waves. */
const MIN_STAND_INS = 300;
const MAX_STAND_INS = 1000;
const WAVES = 3;
/** The most classes, running executions and locks inspected one by one. Larger sets are sampled. */
const MAX_CLASSES = 200;
const MAX_RUNNING = 1000;
const MAX_LOCKS = 100;
/**
 * How sharply the longer of two bounds decides; if both are about equal, the true value is somewhat longer than both.
 */
const SHARPNESS = 8;
/** The number of completed executions from which the group's observed parallelism is used. */
const MIN_OBSERVED = 20;

/**
 * Predicts how long a group, or everything, will still take, as a range; undefined while no durations are known.
 * Durations come from earlier runs of the tools or from the callers' estimates, corrected by how accurate those were.
 *
 * The remaining work is played many times on copies of the scheduler with random durations: conditional on how long a
 * running execution has taken so far, and uncertain as a whole if little was seen. Failures and later submissions are
 * unknown, a pause counts as over, and a limit that was lowered below a demand counts as raised again. The cost is
 * bounded, however much remains.
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
  // A worker costs a play about as much as an execution.
  const workers = (scheduler.dispatcher.placement?.workers.size ?? 0) / rehearsal.workerStep;
  const size = rehearsal.roles.length + workers;
  const plays = Math.min(MAX_PLAYS, Math.max(MIN_PLAYS, Math.ceil(MAX_PLAYED / size)));
  const ends = Array.from({ length: plays }, () => play(random)).sort((a, b) => a - b);
  const at = (share: number) => Math.round(quantile(ends, share));
  return { lowMs: at(0.1), expectedMs: at(0.5), highMs: at(0.9) };
}

/** The quantile of the sorted values, interpolated. */
function quantile(sorted: readonly number[], share: number): number {
  const at = Math.max(0, Math.min(sorted.length - 1, share * (sorted.length + 1) - 1));
  const low = Math.floor(at);
  const high = Math.min(sorted.length - 1, low + 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}

/** Plays one possible future and returns its duration. */
type Play = (random: Random) => number;

/** Plays every unsettled execution individually. */
function copyAll(rehearsal: Rehearsal, scheduler: Scheduler, group: Group | undefined): Play | undefined {
  const executions = allGroups(scheduler).flatMap((each) => each.unsettledMembers());
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
 * Plays many executions on a smaller scale: each class has a few representatives, in proportion, whose durations vary
 * as little as the mean of those they stand for. The play shows how many run at once on average under all limits. The
 * total work divided by that is the remaining time, unless the longest path takes longer. The cost depends on the
 * number of classes, not of executions.
 */
function scaleDown(
  rehearsal: Rehearsal,
  scheduler: Scheduler,
  group: Group | undefined,
  now: number,
): Play | undefined {
  const { resources, holders, placement } = scheduler.dispatcher;
  const shares =
    group === undefined
      ? allGroups(scheduler).flatMap(sharesOf)
      : [...sharesBefore(scheduler, group), ...sharesOf(group)];
  const startedOf = new Map<DemandClass, number>();
  const allSlots = placement?.slots ?? resources.limits[CONCURRENCY]! / SCALE;
  // If there are too many slots to fill several times with a sample, some workers represent all of them.
  const step = placement === undefined ? 1 : Math.max(1, Math.ceil((WAVES * allSlots) / MAX_STAND_INS));
  rehearsal.workerStep = Number.isFinite(step) ? step : 1;
  const running =
    rehearsal.workerStep === 1
      ? holders
      : placement!.sample(rehearsal.workerStep).flatMap(({ holders: onWorker }) => [...onWorker]);
  const isRunning = ({ state }: Execution) => state === Status.running;
  for (const { demand } of (rehearsal.workerStep === 1 ? holders.slice(0, MAX_RUNNING) : holders).filter(
    isRunning,
  ))
    startedOf.set(demand, (startedOf.get(demand) ?? 0) + 1);
  for (const execution of running.slice(0, MAX_RUNNING).filter(isRunning))
    rehearsal.add(execution, group === undefined || execution.demand.group === group);
  const started = rehearsal.roles.map(({ original }) => original!);
  const waitingShares = shares
    .map(({ demand, count }) => ({ demand, count: count - (startedOf.get(demand) ?? 0) }))
    .filter(({ count }) => count > 0);
  const waiting = sum(waitingShares, ({ count }) => count);
  const slots = Math.min(waiting, allSlots / rehearsal.workerStep);
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
  /** The factor by which durations exceed the estimates that paths are made of. */
  const overEstimate = ratio(
    totalWorkMs,
    sum(parts, ({ count, estimateMs }) => count * estimateMs),
  );
  const variance = sum(
    parts,
    ({ source, unitMs, count }) => count * source.distribution.variance * unitMs ** 2,
  );
  /** The relative variance of a duration. */
  const spread = ratio(variance * waiting, totalWorkMs ** 2);
  const pathMs = Math.max(longestQueued(shares), longestLocked(resources.locks, shares));
  const observed = group === undefined ? undefined : observedParallelism(scheduler, group, now);

  /** The duration of a path with a known mean: a long path varies as little as the mean of its parts. */
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
    const ofSample = workBeforeLastStartMs > 0 ? workBeforeLastStartMs / lastStartMs : Math.max(1, slots);
    const parallel = ofSample * rehearsal.workerStep;
    const tailMs = endMs - lastStartMs;
    const byWorkMs = Math.max(0, workMs - workAtLastStartMs) / parallel + tailMs;
    const eitherMs = (byWorkMs ** SHARPNESS + byPathMs ** SHARPNESS) ** (1 / SHARPNESS);
    if (observed === undefined) return eitherMs;
    // Dependencies may keep slots empty even if work and path alone would not, but for no longer than the path.
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

/** Mixes all classes evenly, which is closest to all the orders that dependencies may cause. */
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

/** A bounded sample of the classes that stands for all executions. */
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

/**
 * The share of other groups' work that goes before the end of the group. Executions that are not queued are assumed to
 * have the same share.
 */
function sharesBefore(scheduler: Scheduler, group: Group): Share[] {
  const last = lastToStart(group);
  const others = allGroups(scheduler).filter((other) => other !== group);
  return others.flatMap(sharesOf).flatMap(({ demand, count }) => {
    const { queue } = demand;
    const before = queue.size === 0 ? 0 : Math.round((count * queue.countBefore(last)) / queue.size);
    return before === 0 ? [] : [{ demand, count: before }];
  });
}

/** The rank of the last execution of a small group; for a large one, of the newest. */
function lastToStart(group: Group): Execution {
  const newest = group.newest()!;
  if (group.unsettled > MAX_COPIED) return newest;
  const members = group.unsettledMembers();
  return members.reduce((last, each) => (goesBefore(last, each) ? each : last), newest);
}

/** How many of the group ran at once so far, if dependencies may have kept slots empty and it runs alone. */
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

/** Executions that need the same exclusive lock run one after the other, which makes them a path. */
function longestLocked(locks: LockTable, shares: readonly Share[]): number {
  const classes = new Set(shares.map(({ demand }) => demand));
  let longestMs = 0;
  let inspected = 0;
  for (const lock of locks) {
    if (++inspected > MAX_LOCKS) break;
    const first = lock.first() as Execution | undefined;
    if (first === undefined || !lock.claimOf(first).exclusive || !classes.has(first.demand)) continue;
    longestMs = Math.max(longestMs, lock.claims * first.estimateMs);
  }
  return longestMs;
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

/** A neutral result if there is nothing to compare. */
function ratio(a: number, b: number): number {
  return b === 0 ? 1 : a / b;
}
