import { CONCURRENCY, SCALE } from '../demand.ts';
import type { Execution } from '../execution.ts';
import type { Group } from '../group.ts';
import type { Random } from '../random.ts';
import type { Standing } from '../ready-queue.ts';
import type { Scheduler } from '../scheduler.ts';
import { Status } from '../status.ts';
import { rankOf } from '../urgency.ts';
import { inOrderOfStarting, planOfExecutions } from './plan-of-executions.ts';
import { PlanPlayer } from './plan-player.ts';
import { ScaleModel, type Share } from './scale-model.ts';

/** Up to so many unsettled executions each of them is played through; beyond, only their classes are. */
const MAX_PLAYED = 400;
/** From so many completed executions on it is looked at how many of the group ran at once. */
const FEWEST_OBSERVED = 20;

/** What is left to do, as something that can be played through many times: each play gives one possible end. */
export interface Game {
  /** What all plays have cost so far. */
  readonly steps: number;
  play(random: Random): number;
}

/** The game of a group, or of everything, as exact as its size allows. */
export function gameOf(
  scheduler: Scheduler,
  group: Group | undefined,
  now: number,
): Game | 'nothing-left' | 'nothing-known' {
  const { counts } = scheduler.lifecycle;
  const total =
    counts[Status.pending]! + counts[Status.queued]! + counts[Status.running]! + counts[Status.retrying]!;
  const asked = group === undefined ? total : group.unsettled;
  if (asked === 0) return 'nothing-left';
  const all = allGroups(scheduler);
  if (total <= MAX_PLAYED) return gameOfExecutions(scheduler, all.flatMap(members), group, now);
  if (group === undefined) return gameOfClasses(scheduler, all.flatMap(shares), now);
  if (asked <= MAX_PLAYED) return gameOfFewAmongMany(scheduler, group, now);
  const others = sharesBefore(scheduler, group, standingOf(scheduler, group.newest()!));
  const observedParallel = asked === total ? observe(scheduler, group, now) : undefined;
  return gameOfClasses(scheduler, [...others, ...shares(group)], now, observedParallel);
}

function gameOfExecutions(
  scheduler: Scheduler,
  executions: readonly Execution[],
  group: Group | undefined,
  now: number,
): Game | 'nothing-known' {
  const plan = planOfExecutions(scheduler, executions, group, now);
  return plan.knowsAnything ? new PlayedAlone(new PlanPlayer(plan)) : 'nothing-known';
}

function gameOfClasses(
  scheduler: Scheduler,
  all: readonly Share[],
  now: number,
  observedParallel?: number,
): Game | 'nothing-known' {
  const model = new ScaleModel(scheduler, all, now, observedParallel);
  return model.plan.knowsAnything ? model : 'nothing-known';
}

/** A small group: its own executions are played, with those of others that run; what else goes before is a scale model. */
function gameOfFewAmongMany(scheduler: Scheduler, group: Group, now: number): Game | 'nothing-known' {
  const own = members(group);
  const { holders, resources } = scheduler.dispatcher;
  const running = holders.filter(({ state, demand }) => state === Status.running && demand.group !== group);
  const plan = planOfExecutions(scheduler, [...own, ...running.slice(0, MAX_PLAYED)], group, now);
  if (!plan.knowsAnything) return 'nothing-known';
  const player = new PlanPlayer(plan);
  const waiting = inOrderOfStarting(
    own.filter(({ state }) => state !== Status.running),
    scheduler.stepMs,
  );
  if (waiting.length === 0) return new PlayedAlone(player);
  const beforeFirst = count(sharesBefore(scheduler, group, standingOf(scheduler, waiting[0]!)));
  const beforeLast = sharesBefore(scheduler, group, standingOf(scheduler, waiting.at(-1)!));
  if (beforeLast.length === 0) return new PlayedAlone(player);
  const slots = Math.min(own.length, resources.limits[CONCURRENCY]! / SCALE);
  return new PlayedBehind(
    new ScaleModel(scheduler, beforeLast, now),
    player,
    beforeFirst / count(beforeLast),
    slots,
  );
}

/** Executions that are played one by one. */
class PlayedAlone implements Game {
  constructor(private readonly player: PlanPlayer) {}

  get steps(): number {
    return this.player.steps;
  }

  play(random: Random): number {
    return this.player.play(random).endMs;
  }
}

/** A few executions among many others: the first must wait until some of those have started, the last for all of them. */
class PlayedBehind implements Game {
  constructor(
    private readonly others: ScaleModel,
    private readonly player: PlanPlayer,
    /** The share of the others that goes before the first. */
    private readonly firstShare: number,
    private readonly slots: number,
  ) {}

  get steps(): number {
    return this.others.steps + this.player.steps;
  }

  play(random: Random): number {
    const othersStartedMs = this.others.play(random, 'last-start');
    const { endMs, lastStartMs, workMs } = this.player.play(random);
    const throughFirstMs = this.firstShare * othersStartedMs + endMs;
    const throughLastMs = othersStartedMs + workMs / this.slots + endMs - lastStartMs;
    return Math.max(throughFirstMs, throughLastMs);
  }
}

function allGroups({ catalog }: Scheduler): Group[] {
  return [catalog.root, ...catalog.groups.values()];
}

function members(group: Group): Execution[] {
  return [...group.unsettledMembers()].reverse();
}

function shares({ classes }: Group): Share[] {
  return classes
    .filter(({ unsettled }) => unsettled > 0)
    .map((demand) => ({ demand, count: demand.unsettled }));
}

/** What of other groups goes first, by class. Of those that are not queued it is taken to be the same part. */
function sharesBefore(scheduler: Scheduler, group: Group, standing: Standing): Share[] {
  const others = allGroups(scheduler).filter((other) => other !== group);
  return others.flatMap(shares).flatMap(({ demand, count }) => {
    const { queue } = demand;
    const before = queue.size === 0 ? 0 : Math.round((count * queue.countBefore(standing)) / queue.size);
    return before === 0 ? [] : [{ demand, count: before }];
  });
}

function standingOf({ stepMs }: Scheduler, execution: Execution): Standing {
  return { rank: rankOf(execution, stepMs), seq: execution.seq };
}

/** How many of the group ran at once so far, where dependencies may have kept slots empty. */
function observe({ dispatcher }: Scheduler, group: Group, now: number): number | undefined {
  const { counts, createdAt } = group;
  if (counts[Status.pending] === 0 || counts[Status.completed]! < FEWEST_OBSERVED || now === createdAt)
    return undefined;
  let workMs = group.workMs;
  for (const { startedAt } of dispatcher.holders) workMs += now - startedAt;
  return workMs / (now - createdAt);
}

function count(all: readonly Share[]): number {
  return all.reduce((sum, share) => sum + share.count, 0);
}
