import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import type { SimulatedExecution } from '../../core/simulate.ts';
import { isGroup, itemId, type NewTask, type TaskOptions, type TaskRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { globFiles } from '../../tools/builtin/glob-files.ts';
import { totalOf } from '../counts.ts';
import { groupText } from '../group-text.ts';
import { MAX_ITEMS } from '../run/group-run.ts';

/** The items of a group, as far as they are known before it runs. */
export interface RunnableGroup {
  /** `once for each item of list.entries`. */
  readonly text: string;
  /** How many would run. */
  readonly items: number;
  /** Whether that is known. Otherwise it is an assumption. */
  readonly isExact: boolean;
  /** Whether each item waits for the one before. */
  readonly isSequence: boolean;
  readonly maxConcurrent: number | undefined;
}

/** How many items a group counts as, if its list is not known before it runs. */
const ASSUMED_ITEMS = 10;

/** Returns what a group would run; undefined if the task is none. `which`: of the items that are stored. */
export async function runnableGroup(
  task: NewTask | TaskRecord,
  store: Pick<Store, 'itemCounts'>,
  coordinator: ParallelToolCoordinator,
  which: 'open' | 'all',
): Promise<RunnableGroup | undefined> {
  const { options } = task;
  if (!isGroup(options)) return undefined;
  const stored = 'seq' in task ? await store.itemCounts(task.batch, task.seq) : undefined;
  const known =
    stored !== undefined && totalOf(stored) > 0 && options.repeat === undefined
      ? which === 'all'
        ? totalOf(stored)
        : stored.open + stored.running
      : await countOf(options, coordinator);
  return {
    text: groupText(options)!,
    items: known ?? Math.min(ASSUMED_ITEMS, options.repeat?.max ?? ASSUMED_ITEMS),
    isExact: known !== undefined,
    isSequence: options.repeat !== undefined,
    maxConcurrent: options.maxConcurrent,
  };
}

async function countOf(
  { forEach, repeat }: TaskOptions,
  { roots }: ParallelToolCoordinator,
): Promise<number | undefined> {
  if (repeat !== undefined) return repeat.until === undefined ? repeat.max : undefined;
  if (Array.isArray(forEach)) return forEach.length;
  const { glob } = Object(forEach) as { glob?: unknown };
  if (typeof glob !== 'string') return undefined;
  return (await globFiles(roots, glob, MAX_ITEMS, new AbortController().signal)).files.length;
}

type GroupedExecution = SimulatedExecution & { readonly id: string };

/**
 * Replaces a group by its items, and by an execution that takes no time and has the id of the group, for what waits for
 * all of them. With a limit of n at once, each item waits for the item n places before it. Returns one execution
 * for a task that is no group.
 */
export function executionsOf(
  execution: GroupedExecution,
  group: RunnableGroup | undefined,
): GroupedExecution[] {
  if (group === undefined) return [execution];
  const { id, dependsOn = [], priority, onDependencyFailure } = execution;
  const { items, isSequence, maxConcurrent = items } = group;
  const lanes = isSequence ? 1 : maxConcurrent;
  const list = Array.from({ length: items }, (_, index) => ({
    ...execution,
    id: itemId(id, index),
    dependsOn: index < lanes ? dependsOn : [itemId(id, index - lanes)],
  }));
  const end = {
    id,
    toolName: 'group',
    durationMs: 0,
    dependsOn: items === 0 ? dependsOn : list.slice(-lanes).map((item) => item.id),
    timeoutMs: Number.POSITIVE_INFINITY,
    resources: {},
    ...(priority !== undefined && { priority }),
    ...(onDependencyFailure !== undefined && { onDependencyFailure }),
  };
  return [...list, end];
}
