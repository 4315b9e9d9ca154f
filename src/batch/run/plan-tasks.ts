import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ToolCall } from '../../coordinator/call.ts';
import type { CallPlanner, PlannedCall, RefusedCall } from '../../coordinator/plan.ts';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import { isThenable } from '../../core/values.ts';
import { isGroup, type NewTask, NO_OPTIONS, type TaskOptions, type TaskRecord } from '../../store/records.ts';

/** A task that is stored, or about to be. */
type StoredTask = NewTask & Partial<Pick<TaskRecord, 'failures'>>;

/** A task and its plan. */
export interface PlannedTask<T extends StoredTask = TaskRecord> {
  readonly record: T;
  readonly planned: PlannedCall;
}

/** Plans per turn of the event loop. */
const PER_TURN = 200;

/** Plans a task by itself, so that `${…}` keeps the meaning it had when the task was added. */
export function planTask(planner: CallPlanner, record: StoredTask): PlannedCall | Promise<PlannedCall> {
  const { failures = 0 } = record;
  const planned = planOne(planner, record);
  if (failures === 0) return planned;
  return isThenable(planned)
    ? planned.then((later) => withUsedRetries(later, failures))
    : withUsedRetries(planned, failures);
}

function planOne(planner: CallPlanner, record: StoredTask): PlannedCall | Promise<PlannedCall> {
  const { id, params, options } = record;
  const { item, dependsOn, mentions } = options;
  if (isGroup(options)) return planner.planGroup(id, taskCall(record, undefined), dependsOn);
  if (item?.problem !== undefined) {
    const { code, message } = item.problem;
    return refused(record, new VolleyError(code as ErrorCode, message));
  }
  const call = taskCall(record, JSON.parse(params));
  return planner.plan(id, call, dependsOn, { mentions, isResolved: item !== undefined });
}

export async function planTasks<T extends StoredTask>(
  planner: CallPlanner,
  records: readonly T[],
): Promise<PlannedTask<T>[]> {
  const tasks: PlannedTask<T>[] = [];
  /** By tool. After one schema timeout, checking the tool's other tasks would take as long each. */
  const timeouts = new Map<string, VolleyError>();
  for (const [index, record] of records.entries()) {
    if (index % PER_TURN === PER_TURN - 1) await nextTurn();
    const timeout = timeouts.get(record.function);
    const planning = timeout === undefined ? planTask(planner, record) : refused(record, timeout);
    const planned = isThenable(planning) ? await planning : planning;
    tasks.push({ record, planned });
    if (planned.kind === 'refused' && planned.error.code === 'EXECUTION_TIMEOUT')
      timeouts.set(record.function, planned.error);
  }
  return tasks;
}

/** Subtracts the attempts that failed in earlier runs from the retries. */
function withUsedRetries(planned: PlannedCall, failures: number): PlannedCall {
  if (planned.kind === 'refused') return planned;
  const { options } = planned;
  const maxRetries = Math.max(0, (options.retry.maxRetries ?? 0) - failures);
  return { ...planned, options: { ...options, retry: { ...options.retry, maxRetries } } };
}

function refused(record: StoredTask, error: VolleyError): RefusedCall {
  return { kind: 'refused', id: record.id, call: taskCall(record, {}), error };
}

/**
 * Whether a task decides itself what a dependency without a result means, because it mentions some in expressions: one
 * that was skipped by its own condition is undefined there.
 */
export function judgesDependencies({ mentions, onDependencyFailure = 'skip' }: TaskOptions): boolean {
  return mentions !== undefined && onDependencyFailure === 'skip';
}

/** The call of a task. */
export function taskCall(task: Pick<NewTask, 'id' | 'function' | 'options'>, params: unknown): ToolCall {
  if (task.options === NO_OPTIONS) return { id: task.id, name: task.function, arguments: params };
  const { priority, maxRetries, timeoutMs, dependsOn, resources, on } = task.options;
  const onDependencyFailure = judgesDependencies(task.options) ? 'run' : task.options.onDependencyFailure;
  return {
    id: task.id,
    name: task.function,
    arguments: params,
    ...(priority !== undefined && { priority }),
    ...(maxRetries !== undefined && { retry: { maxRetries } }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(dependsOn !== undefined && { dependsOn }),
    ...(onDependencyFailure !== undefined && { onDependencyFailure }),
    ...(resources !== undefined && { resources }),
    ...(on !== undefined && { on }),
  };
}
