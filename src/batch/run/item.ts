import type { CallDesk, ItemOptions } from '../../coordinator/call-desk.ts';
import type { ReadyCall } from '../../coordinator/plan.ts';
import { VolleyError } from '../../core/errors.ts';
import type { GroupItem } from '../../engine/engine.ts';
import type { ExecutionHandle } from '../../engine/handle.ts';
import type { ToolFunction } from '../../engine/task.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Dependencies } from './dependencies.ts';
import { planTask } from './submission.ts';
import type { TaskRun } from './task-run.ts';

/** What the tasks of one submission share. */
export interface ItemParts {
  readonly batch: string;
  /** Makes ids of tasks into those of their executions, with a slash. */
  readonly prefix: string;
  /** The group of the engine that the executions belong to. */
  readonly group: string;
  readonly dependencies: Dependencies;
  /** Ids of tasks of the same submission that came to an end before it. */
  readonly ended: ReadonlySet<string>;
  readonly resultOf: ItemOptions['resultOf'];
  readonly desk: CallDesk;
  readonly store: Store;
}

/** Longer arguments are not kept while a task waits: they are read from the store again when it runs. */
const LONGEST_KEPT_PARAMS = 4096;
const NO_DEPENDENCIES = { dependsOn: [], hasFailedDependency: false } as const;

/** What the engine is given for a task. */
export function itemFor(parts: ItemParts, task: TaskRun, record: TaskRecord, call: ReadyCall): GroupItem {
  const { prefix, group, resultOf } = parts;
  const { dependsOn, hasFailedDependency } = dependenciesOf(parts, call.dependsOn);
  const options: ItemOptions = {
    id: `${prefix}/${task.id}`,
    dependsOn,
    hasFailedDependency,
    resultOf,
    group,
    around: task,
  };
  if (record.params.length <= LONGEST_KEPT_PARAMS) return parts.desk.itemFor(call, options);
  return itemWithoutParams(parts, task, call, { ...options, around: undefined });
}

function dependenciesOf(
  { prefix, dependencies, ended }: ItemParts,
  ids: readonly string[],
): Pick<ItemOptions, 'dependsOn' | 'hasFailedDependency'> {
  if (ids.length === 0) return NO_DEPENDENCIES;
  const dependsOn: (string | ExecutionHandle)[] = [];
  let hasFailedDependency = false;
  for (const id of ids) {
    const standing = dependencies.of(id);
    if (standing.kind === 'known') dependsOn.push(standing.handle);
    else if (standing.kind === 'submitted' && !ended.has(id)) dependsOn.push(`${prefix}/${id}`);
    else if (standing.kind !== 'completed') hasFailedDependency = true;
  }
  return { dependsOn, hasFailedDependency };
}

function itemWithoutParams(
  { desk, store, batch }: ItemParts,
  task: TaskRun,
  call: ReadyCall,
  options: ItemOptions,
): GroupItem {
  const make = (ready: ReadyCall): GroupItem => desk.itemFor(ready, options);
  const work = readAgain(desk, store, batch, task.id, make);
  return { ...make(call), run: (context) => task.attempt(context, work) };
}

function readAgain(
  desk: CallDesk,
  store: Store,
  batch: string,
  id: string,
  make: (ready: ReadyCall) => GroupItem,
): ToolFunction {
  return async (context) => {
    const record = await store.task(batch, id);
    const planned = record === undefined ? undefined : await planTask(desk, record);
    if (planned === undefined)
      throw new VolleyError('UNKNOWN_TASK', `The task ${id} was cleared while it waited.`);
    if (planned.kind === 'refused') throw planned.error;
    return make(planned).run(context);
  };
}

/** Gives results of other tasks, read when an attempt needs them. */
export function resultsOf(store: Store, batch: string): ItemOptions['resultOf'] {
  return async (_, ids) => {
    const texts = await store.results(batch, ids);
    const missing = [...ids].filter((id) => !texts.has(id));
    const others = missing.length === 0 ? undefined : await store.tasksById(batch, missing);
    return (id) => {
      const text = texts.get(id);
      if (text !== undefined) return JSON.parse(text);
      const status = others?.get(id)?.status;
      throw new VolleyError(
        'UNRESOLVED_REFERENCE',
        `The arguments refer to the result of ${id}, but it has none: it ${status === undefined ? 'was cleared' : `is ${status}`}.`,
        { id },
      );
    };
  };
}
