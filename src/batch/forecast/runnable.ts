import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import type { ReadyCall } from '../../coordinator/plan.ts';
import type { ResourceRequirements } from '../../core/demand.ts';
import { VolleyError } from '../../core/errors.ts';
import type { Labels } from '../../core/labels.ts';
import type { Priority } from '../../core/priority.ts';
import type { DependencyPolicy } from '../../core/terms.ts';
import { countText } from '../../core/words.ts';
import { isGroup, type NewTask, type TaskRecord, type TaskStatus } from '../../store/records.ts';
import type { TaskSummary } from '../../store/store.ts';
import { addBatchAction } from '../actions/add-batch.ts';
import { TaskCheck } from '../add-tasks.ts';
import { type BatchContext, taskPages } from '../context.ts';
import { checkInput } from '../input/check.ts';
import { RETURN_ID, type TaskInput } from '../input/fields.ts';
import { autoConcurrency } from '../run/auto-concurrency.ts';
import { type LearnedDuration, learnedDurations } from '../run/learned-durations.ts';
import { planTasks } from '../run/plan-tasks.ts';
import { type RunnableGroup, runnableGroup } from './groups.ts';

/** A task that a start would run. */
export interface RunnableTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  /** Ids of others that would run. */
  readonly dependsOn: readonly string[];
  readonly onDependencyFailure: DependencyPolicy;
  readonly priority: Priority;
  /** Its needs, as far as known before it runs. */
  readonly resources: ResourceRequirements;
  readonly conflictsWith: readonly string[];
  /** The labels of the workers on which it may run. */
  readonly on: Labels;
  /** If it becomes several. */
  readonly group: RunnableGroup | undefined;
  /** The expression on which it depends whether it runs. */
  readonly when: string | undefined;
  /** The expression that the batch returns, if this is the task that computes it. */
  readonly returns: string | undefined;
}

/** What a batch would run if it were started now. */
export interface RunnableBatch {
  readonly tasks: readonly RunnableTask[];
  /** Ids of tasks that would be skipped because a dependency has failed before. */
  readonly skipped: readonly string[];
  /** The concurrency that "auto" would choose. */
  readonly autoConcurrency: number;
  /** Earlier durations by function, as far as known. */
  readonly learned: ReadonlyMap<string, LearnedDuration>;
}

interface Candidate {
  readonly task: NewTask;
  readonly ready: ReadyCall;
}

/** Which stored tasks are included. */
export interface RunnableOptions {
  /** `all` includes them as if none had run. Default: `open`. */
  readonly besides?: 'open' | 'all' | 'none';
}

/**
 * Validates tasks as `add_batch` and `start` do, without adding or starting any. Throws if one is invalid.
 */
export async function runnableBatch(
  context: BatchContext,
  batch: string,
  given: readonly unknown[],
  { besides = 'open' }: RunnableOptions,
): Promise<RunnableBatch> {
  const fresh = given.length === 0 ? [] : await checkNew(context, batch, given);
  const known =
    besides === 'none' ? [] : await checkKnown(context, batch, besides === 'all' ? undefined : ['open']);
  const candidates = [...known, ...fresh];
  const skipped = await skippedOf(context, batch, candidates);
  const left = candidates.filter(({ task }) => !skipped.has(task.id));
  return {
    tasks: await runnableTasks(context, left, besides === 'all' ? 'all' : 'open'),
    skipped: [...skipped],
    autoConcurrency: autoConcurrency(left.map(({ ready }) => ready)),
    learned: await learnedDurations(context.store, new Set(left.map(({ task }) => task.function))),
  };
}

async function checkNew(
  context: BatchContext,
  batch: string,
  given: readonly unknown[],
): Promise<Candidate[]> {
  const request = checkInput(addBatchAction.schema, 'add_batch', { batch, tasks: given });
  const { tasks } = request as { tasks: readonly TaskInput[] };
  const coordinator = await context.coordinator();
  const { ids, giveBack } = await context.ids.choose(
    batch,
    tasks.map(({ id }) => id),
  );
  giveBack();
  const checked = await new TaskCheck(coordinator, context.store, batch, ids).tasksOf(tasks);
  return planCandidates(coordinator, batch, checked);
}

async function checkKnown(
  context: BatchContext,
  batch: string,
  status: readonly TaskStatus[] | undefined,
): Promise<Candidate[]> {
  const records: TaskRecord[] = [];
  for await (const page of taskPages(context.store, batch, status)) {
    // A group stands for its items.
    for (const record of page) if (record.options.item === undefined) records.push(record);
  }
  if (records.length === 0) return [];
  return planCandidates(await context.coordinator(), batch, records);
}

/** Throws if one of them cannot run. */
async function planCandidates(
  { planner, redactor }: ParallelToolCoordinator,
  batch: string,
  tasks: readonly NewTask[],
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  const problems: string[] = [];
  for (const { record, planned } of await planTasks(planner, tasks)) {
    if (planned.kind === 'ready') candidates.push({ task: record, ready: planned });
    else problems.push(`${record.id}: ${redactor.text(planned.error.message)}`);
  }
  if (problems.length === 0) return candidates;
  throw new VolleyError(
    'INVALID_REQUEST',
    `${countText(problems.length, 'open task')} of the batch ${JSON.stringify(batch)} can no longer run. ${problems.slice(0, 5).join(' ')}`,
    { batch, problems: problems.slice(0, 100) },
  );
}

/** Returns the ids of tasks that would be skipped, directly or transitively. */
async function skippedOf(
  { store }: BatchContext,
  batch: string,
  candidates: readonly Candidate[],
): Promise<Set<string>> {
  const ids = new Set(candidates.map(({ task }) => task.id));
  const others = candidates.flatMap(({ ready }) => ready.dependsOn.filter((id) => !ids.has(id)));
  const stored = await store.tasksById(batch, new Set(others));
  const dependents = new Map<string, string[]>();
  const skipped = new Set<string>();
  for (const { task, ready } of candidates) {
    if ((task.options.onDependencyFailure ?? 'skip') !== 'skip') continue;
    for (const id of ready.dependsOn) {
      if (ids.has(id)) dependents.set(id, [...(dependents.get(id) ?? []), task.id]);
      else if (!isUsable(stored.get(id), task)) skipped.add(task.id);
    }
  }
  // Iterating over a set includes entries added during the loop.
  for (const id of skipped) for (const dependent of dependents.get(id) ?? []) skipped.add(dependent);
  return skipped;
}

/** Whether a task can run after another. One that was skipped by its own condition is undefined in expressions. */
function isUsable(other: TaskSummary | undefined, { options }: NewTask): boolean {
  if (other?.status === 'completed') return true;
  const isUndefined = other?.status === 'skipped' && other.cause === undefined;
  return isUndefined && options.mentions?.includes(other.id) === true;
}

async function runnableTasks(
  { store, ...context }: BatchContext,
  candidates: readonly Candidate[],
  which: 'open' | 'all',
): Promise<RunnableTask[]> {
  const ids = new Set(candidates.map(({ task }) => task.id));
  const groups = new Map<string, RunnableGroup | undefined>();
  for (const { task } of candidates)
    if (isGroup(task.options))
      groups.set(task.id, await runnableGroup(task, store, await context.coordinator(), which));
  return candidates.map(({ task, ready }) => ({
    id: task.id,
    name: task.name,
    function: task.function,
    dependsOn: ready.dependsOn.filter((id) => ids.has(id)),
    onDependencyFailure: task.options.onDependencyFailure ?? 'skip',
    priority: ready.options.priority,
    resources: ready.needs ?? {},
    conflictsWith: ready.options.conflictsWith,
    on: ready.call.on ?? {},
    group: groups.get(task.id),
    when: task.options.when,
    returns: returnedBy(task),
  }));
}

function returnedBy({ id, params }: NewTask): string | undefined {
  if (id !== RETURN_ID) return undefined;
  const { expression } = JSON.parse(params) as { expression?: unknown };
  return typeof expression === 'string' ? expression : undefined;
}
