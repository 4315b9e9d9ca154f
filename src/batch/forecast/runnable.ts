import type { ReadyCall } from '../../coordinator/plan.ts';
import type { ResourceRequirements } from '../../core/demand.ts';
import { VolleyError } from '../../core/errors.ts';
import type { Priority } from '../../core/priority.ts';
import type { DependencyPolicy } from '../../core/terms.ts';
import { countText } from '../../core/words.ts';
import type { NewTask, TaskRecord, TaskStatus } from '../../store/records.ts';
import { addBatchAction } from '../actions/add-batch.ts';
import type { BatchContext } from '../context.ts';
import { checkInput } from '../input/check.ts';
import { taskPages } from '../pages.ts';
import { autoConcurrency } from '../run/auto-concurrency.ts';
import { planTasks } from '../run/submission.ts';
import { TaskCheck } from '../task-check.ts';
import { type LearnedDuration, learnedDurations } from './learned.ts';

/** A task that a start would run. */
export interface RunnableTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  /** Ids of others that would run. */
  readonly dependsOn: readonly string[];
  readonly onDependencyFailure: DependencyPolicy;
  readonly priority: Priority;
  /** What is known of its needs before it runs. */
  readonly resources: ResourceRequirements;
  readonly conflictsWith: readonly string[];
}

/** What a batch would run if it were started now. */
export interface RunnableBatch {
  readonly tasks: readonly RunnableTask[];
  /** Ids of tasks that would be skipped, because something they depend on has failed before. */
  readonly skipped: readonly string[];
  /** What "auto" would choose. */
  readonly autoConcurrency: number;
  /** How long their functions took before, as far as that is known. */
  readonly learned: ReadonlyMap<string, LearnedDuration>;
}

interface Candidate {
  readonly task: NewTask;
  readonly ready: ReadyCall;
}

/** Which tasks of the batch are looked at besides. */
export interface RunnableOptions {
  /** All: as if none had run. Default: those that are open. */
  readonly besides?: 'open' | 'all' | 'none';
}

/**
 * Checks tasks as `add_batch` does, and those of the batch as `start` does, and adds and starts nothing. Throws what is
 * wrong.
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
    tasks: runnableTasks(left),
    skipped: [...skipped],
    autoConcurrency: autoConcurrency(left),
    learned: await learnedDurations(context.store, new Set(left.map(({ task }) => task.function))),
  };
}

async function checkNew(
  context: BatchContext,
  batch: string,
  given: readonly unknown[],
): Promise<Candidate[]> {
  const request = checkInput(addBatchAction.schema, 'add_batch', { batch, tasks: given });
  const { tasks } = request as { tasks: Parameters<TaskCheck['check']>[0] };
  const { desk } = await context.coordinator();
  const { ids, giveBack } = await context.ids.choose(
    batch,
    tasks.map(({ id }) => id),
  );
  giveBack();
  return new TaskCheck(desk, context.store, batch, ids).check(tasks);
}

async function checkKnown(
  context: BatchContext,
  batch: string,
  status: readonly TaskStatus[] | undefined,
): Promise<Candidate[]> {
  const records: TaskRecord[] = [];
  for await (const page of taskPages(context.store, batch, status)) records.push(...page);
  if (records.length === 0) return [];
  const { desk } = await context.coordinator();
  const { tasks, ends } = await planTasks(desk, records);
  if (ends.size > 0) throw refusedError(batch, [...ends.values()]);
  return tasks.map(({ record, ready }) => ({ task: record, ready }));
}

/** What would be skipped at once, to the end of every chain. */
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
      else if (stored.get(id)?.status !== 'completed') skipped.add(task.id);
    }
  }
  // A set that grows while it is gone through comes to those that are added, too.
  for (const id of skipped) for (const dependent of dependents.get(id) ?? []) skipped.add(dependent);
  return skipped;
}

function runnableTasks(candidates: readonly Candidate[]): RunnableTask[] {
  const ids = new Set(candidates.map(({ task }) => task.id));
  return candidates.map(({ task, ready }) => ({
    id: task.id,
    name: task.name,
    function: task.function,
    dependsOn: ready.dependsOn.filter((id) => ids.has(id)),
    onDependencyFailure: task.options.onDependencyFailure ?? 'skip',
    priority: ready.spec.priority,
    resources: ready.needs ?? {},
    conflictsWith: ready.spec.conflictsWith,
  }));
}

function refusedError(
  batch: string,
  refused: readonly { readonly record: TaskRecord; readonly end: object }[],
): VolleyError {
  const problems = refused.map(({ record, end }) => `${record.id}: ${(end as { message?: string }).message}`);
  return new VolleyError(
    'INVALID_REQUEST',
    `${countText(refused.length, 'open task')} of the batch ${JSON.stringify(batch)} cannot run any more. ${problems.slice(0, 5).join(' ')}`,
    { batch, problems: problems.slice(0, 100) },
  );
}
