import { VolleyError } from '../../../src/core/errors.ts';
import type { Execution } from '../../../src/core/execution.ts';
import type { Group } from '../../../src/core/group.ts';
import type { RandomDraft, Script, Step } from './script.ts';
import { type Attempt, type Draft, World } from './world.ts';

/** Errors with which a random submission may rightly be refused. */
const REFUSALS = new Set(['DEPENDENCY_CYCLE', 'IMPOSSIBLE_DEMAND']);

/** Plays a script to its end on a new scheduler. */
export function play({ options, steps }: Script): World {
  const world = new World(options);
  for (const step of steps) take(world, step);
  world.advance();
  return world;
}

/** Ends the faults and lets everything end: nothing is paused, limits are those of the start, every attempt answers. */
export function heal(world: World, { options }: Script): void {
  world.resume();
  for (const group of world.scheduler.catalog.groups.values()) world.resume(group);
  world.limit(options.limits);
  for (const worker of options.workers ?? []) {
    world.leave(worker.id);
    world.join(worker);
  }
  world.advance();
  for (let round = 0; !isAtRest(world); round++) {
    if (round > 10_000) throw new Error('it never comes to rest');
    for (const execution of lenders(world)) world.reclaim(execution);
    for (const { execution, number } of answering(world)) world.succeed(execution, number);
    world.advance();
    if (answering(world).length > 0 || isAtRest(world)) continue;
    const next = world.scheduler.nextWakeAt();
    if (next === Number.POSITIVE_INFINITY) {
      throw new Error(`${unsettled(world).map(({ id }) => id)} would wait for ever`);
    }
    world.advance(Math.max(0, next - world.now));
  }
}

/** A function that waits for its children, with its room lent, does not end. */
function answering(world: World): Attempt[] {
  return world.attempts.filter(({ execution }) => execution.room !== 'lent');
}

function isAtRest(world: World): boolean {
  return world.attempts.length === 0 && unsettled(world).length === 0;
}

export function unsettled(world: World): Execution[] {
  return [...world.monitor.specs.keys()].filter((execution) => !world.monitor.settledOnes.has(execution));
}

function lenders(world: World): Execution[] {
  const { resuming } = world.scheduler.dispatcher;
  return unsettled(world).filter((execution) => execution.room === 'lent' && !resuming.includes(execution));
}

function take(world: World, step: Step): void {
  switch (step.kind) {
    case 'submit':
      unlessRefused(world, () => world.submit(toDraft(world, step.draft, nameOrNone(world))));
      break;
    case 'submitAll': {
      const prefix = newName(world);
      const ids = step.drafts.map((_, index) => `${prefix}.${index}`);
      const drafts = step.drafts.map((draft, index) => asMember(toDraft(world, draft, ids[index], ids)));
      unlessRefused(world, () => world.submitAll(drafts, step.options));
      break;
    }
    case 'succeed':
      ofAttempt(world, step.pick, (execution, attempt) => world.succeed(execution, attempt));
      break;
    case 'fail': {
      const { reason, isPermanent } = step;
      const more = reason === 'memory' && { memoryMb: 250 };
      ofAttempt(world, step.pick, (execution, attempt) =>
        world.fail(execution, { reason, isPermanent, ...more }, attempt),
      );
      break;
    }
    case 'refuse': {
      const { retryAfterMs, scope } = step;
      const limit = {
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(scope !== undefined && { scope }),
      };
      ofAttempt(world, step.pick, (execution, attempt) =>
        world.fail(execution, { reason: 'error', limit }, attempt),
      );
      break;
    }
    case 'answerLate':
      ofAny(world, step.pick, (execution) => answerLate(world, execution, step.attempt));
      break;
    case 'used':
      world.used(step.toolName, step.usage);
      break;
    case 'progress':
      ofAttempt(world, step.pick, (execution, attempt) => world.progress(execution, attempt));
      break;
    case 'cancel':
      ofAny(world, step.pick, (execution) => world.cancel(execution));
      break;
    case 'lend':
      ofAttempt(world, step.pick, (execution) => world.lend(execution));
      break;
    case 'reclaim':
      ofOne(lenders(world), step.pick, (execution) => world.reclaim(execution));
      break;
    case 'cancelGroup':
      ofGroup(world, step.pick, (group) => world.cancelGroup(group));
      break;
    case 'pauseGroup':
      ofGroup(world, step.pick, (group) => world.pause(group));
      break;
    case 'resumeGroup':
      ofGroup(world, step.pick, (group) => world.resume(group));
      break;
    case 'cancelAll':
      world.cancelAll();
      break;
    case 'pause':
      world.pause();
      break;
    case 'resume':
      world.resume();
      break;
    case 'join': {
      const gone = (world.options.workers ?? []).filter(
        ({ id }) => !world.workers.some((one) => one.id === id),
      );
      ofOne(gone, step.pick, (worker) => world.join(worker));
      break;
    }
    case 'drain':
      ofOne(world.workers, step.pick, ({ id }) => world.drain(id));
      break;
    case 'leave':
      ofOne(world.workers, step.pick, ({ id }) => world.leave(id));
      break;
    case 'plan':
      world.plan();
      break;
    case 'limit':
      world.limit(step.limits);
      break;
    case 'wait':
      world.advance(step.ms);
      break;
  }
}

/** A member of a group cannot name another group. */
function asMember({ group: _, ...draft }: Draft): Draft {
  return draft;
}

/** An answer of an attempt that is not the current one must be turned away. */
function answerLate(world: World, execution: Execution, attempt: number): void {
  const isCurrent = execution.statusName === 'running' && execution.attempt === attempt;
  if (isCurrent) return;
  if (world.succeed(execution, attempt)) throw new Error(`${execution.id} took a late answer`);
}

function unlessRefused(world: World, submit: () => unknown): void {
  const before = [...world.scheduler.lifecycle.counts];
  try {
    submit();
  } catch (error) {
    if (!(error instanceof VolleyError) || !REFUSALS.has(error.code)) throw error;
    if (`${before}` !== `${world.scheduler.lifecycle.counts}`) throw new Error('a refusal left a trace');
  }
}

function newName(world: World): string {
  return `e${world.monitor.specs.size}`;
}

/** Some executions have no name of their own. */
function nameOrNone(world: World): string | undefined {
  return world.monitor.specs.size % 3 === 2 ? undefined : newName(world);
}

function toDraft(
  world: World,
  { spec, after, within }: RandomDraft,
  id?: string,
  group: readonly string[] = [],
): Draft {
  // Mostly what has settled long ago would not be waited for.
  const known = [...world.monitor.specs.keys()].slice(-8);
  const before = known.length === 0 ? [] : after.map((pick) => known[pick % known.length]!);
  const beside = group.length === 0 ? [] : within.map((pick) => group[pick % group.length]!);
  return { ...spec, ...(id !== undefined && { id }), dependsOn: [...before, ...beside] };
}

function ofAttempt(world: World, pick: number, act: (execution: Execution, attempt: number) => void): void {
  ofOne(world.attempts, pick, ({ execution, number }) => act(execution, number));
}

function ofAny(world: World, pick: number, act: (execution: Execution) => void): void {
  ofOne([...world.monitor.specs.keys()], pick, act);
}

function ofGroup(world: World, pick: number, act: (group: Group) => void): void {
  ofOne([...world.scheduler.catalog.groups.values()], pick, act);
}

function ofOne<T>(items: readonly T[], pick: number, act: (item: T) => void): void {
  if (items.length > 0) act(items[pick % items.length]!);
}
