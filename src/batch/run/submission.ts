import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallDesk } from '../../coordinator/call-desk.ts';
import { toCallError } from '../../coordinator/errors.ts';
import type { PlannedCall, ReadyCall } from '../../coordinator/plan.ts';
import type { TaskEnd, TaskRecord } from '../../store/records.ts';
import { isThenable } from '../../tools/needs.ts';
import { callOf } from '../input/task-input.ts';
import type { Dependencies } from './dependencies.ts';

/** A task that can be given to the engine. */
export interface ReadyTask {
  readonly record: TaskRecord;
  readonly ready: ReadyCall;
}

/** Open tasks that were looked at. */
export interface PlannedTasks {
  readonly tasks: readonly ReadyTask[];
  /** Those that cannot run, by id. */
  readonly ends: Map<string, EndedTask>;
}

export interface EndedTask {
  readonly record: TaskRecord;
  readonly end: TaskEnd;
}

/** So many are looked at before the event loop gets a break. */
const PER_TURN = 200;

/** Looks at each task by itself: `${…}` means what it meant when it was added, whatever ids have come since. */
export function planTask(desk: CallDesk, record: TaskRecord): PlannedCall | Promise<PlannedCall> {
  const { id, params, options, failures } = record;
  const planned = desk.planOne(id, callOf(record, JSON.parse(params)), options.dependsOn);
  if (failures === 0) return planned;
  return isThenable(planned)
    ? planned.then((later) => triedBefore(later, failures))
    : triedBefore(planned, failures);
}

/** What has failed in an earlier run counts on: of the retries, so many are used. */
function triedBefore(planned: PlannedCall, failures: number): PlannedCall {
  if (planned.kind === 'refused') return planned;
  const { spec } = planned;
  const maxRetries = Math.max(0, (spec.retry.maxRetries ?? 0) - failures);
  return { ...planned, spec: { ...spec, retry: { ...spec.retry, maxRetries } } };
}

/** Sorts open tasks into those that can run, as far as they themselves decide it, and those that are refused. */
export async function planTasks(desk: CallDesk, records: readonly TaskRecord[]): Promise<PlannedTasks> {
  const ends = new Map<string, EndedTask>();
  const tasks: ReadyTask[] = [];
  /** By tool, where a schema did not answer in time: each of its other tasks would take as long to be looked at. */
  const silent = new Map<string, TaskEnd>();
  for (const [index, record] of records.entries()) {
    if (index % PER_TURN === PER_TURN - 1) await nextTurn();
    const known = silent.get(record.function);
    if (known !== undefined) {
      ends.set(record.id, { record, end: known });
      continue;
    }
    const planning = planTask(desk, record);
    const planned = isThenable(planning) ? await planning : planning;
    if (planned.kind === 'ready') {
      tasks.push({ record, ready: planned });
      continue;
    }
    const { message, code } = toCallError(planned.error, desk.redactor);
    const end: TaskEnd = { status: 'failed', reason: 'error', message, ...(code !== undefined && { code }) };
    ends.set(record.id, { record, end });
    if (code === 'EXECUTION_TIMEOUT') silent.set(record.function, end);
  }
  return { tasks, ends };
}

/** Adds those that will never run because of what became of others, to the end of every chain. */
export function ruleOut(
  tasks: readonly ReadyTask[],
  ends: Map<string, EndedTask>,
  dependencies: Dependencies,
): void {
  for (const { record, ready } of tasks) {
    const policy = record.options.onDependencyFailure ?? 'skip';
    const end = dependencies.endBefore(ready.dependsOn, policy);
    if (end !== undefined) ends.set(record.id, { record, end });
  }
  if (ends.size === 0) return;
  const dependents = skippable(tasks);
  const waiting = [...ends.keys()];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const { end } = ends.get(id)!;
    const cause = (end.status === 'skipped' ? end.cause : undefined) ?? id;
    for (const { record } of dependents.get(id) ?? []) {
      if (ends.has(record.id)) continue;
      ends.set(record.id, { record, end: { status: 'skipped', cause } });
      waiting.push(record.id);
    }
  }
}

/** For each id, the tasks that are skipped when it does not complete. */
function skippable(tasks: readonly ReadyTask[]): Map<string, ReadyTask[]> {
  const dependents = new Map<string, ReadyTask[]>();
  for (const task of tasks) {
    if ((task.record.options.onDependencyFailure ?? 'skip') !== 'skip') continue;
    for (const dependency of task.ready.dependsOn) {
      const known = dependents.get(dependency);
      if (known === undefined) dependents.set(dependency, [task]);
      else known.push(task);
    }
  }
  return dependents;
}
