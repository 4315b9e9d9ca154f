import type { Execution } from '../execution.ts';
import type { Group } from '../group.ts';
import type { Scheduler } from '../scheduler.ts';
import { Status } from '../status.ts';
import { rankOf } from '../urgency.ts';
import { Plan, type PlannedState } from './plan.ts';

/**
 * The plan of unsettled executions, each as it stands now; only those of `group` count, if one is given. What others
 * do is left out.
 */
export function planOfExecutions(
  scheduler: Scheduler,
  executions: readonly Execution[],
  group: Group | undefined,
  now: number,
): Plan {
  const plan = new Plan(scheduler.dispatcher.resources, now);
  const ordered = inOrderOfStarting(executions, scheduler.stepMs);
  const places = new Map(ordered.map((execution, place) => [execution, place]));
  for (const execution of ordered) {
    const { demand, claims, ownEstimateMs } = execution;
    const isOwn = ownEstimateMs !== 0;
    const source = plan.sourceOf(demand.tool, isOwn ? 'own' : 'seen');
    const needs = { class: plan.classOf(demand, claims), source, unitMs: isOwn ? ownEstimateMs : 1 };
    plan.add(needs, stateOf(execution, places, group, now));
  }
  for (const { dependents } of plan.executions) {
    for (const place of dependents) plan.executions[place]!.waitingFor++;
  }
  plan.weigh();
  return plan;
}

/** Also for those that are not queued yet: their rank is known before. */
export function inOrderOfStarting(executions: readonly Execution[], stepMs: number): Execution[] {
  const ranked = executions.map((execution) => ({ execution, rank: rankOf(execution, stepMs) }));
  ranked.sort((a, b) => a.rank - b.rank || a.execution.seq - b.execution.seq);
  return ranked.map(({ execution }) => execution);
}

function stateOf(
  execution: Execution,
  places: ReadonlyMap<Execution, number>,
  group: Group | undefined,
  now: number,
): PlannedState {
  const { demand, state, room, startedAt, retryAt, graceUntil, dependents = [] } = execution;
  return {
    elapsedMs: state === Status.running ? now - startedAt : -1,
    holdsRoom: room === 'held',
    pauseMs: state === Status.retrying ? Math.max(retryAt, graceUntil) - now : 0,
    counts: group === undefined || demand.group === group,
    dependents: dependents.flatMap((dependent) => places.get(dependent) ?? []),
  };
}
