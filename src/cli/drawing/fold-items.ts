// Also for the dashboard: pure, without imports from Node.

/** A task of a graph. `group`: if it is an item, the id of its group. */
interface GroupedTask {
  readonly id: string;
  readonly dependsOn: readonly string[];
  readonly group?: string | null | undefined;
}

/** A node of a graph. */
export interface FoldedTask<T> {
  readonly task: T;
  readonly dependsOn: readonly string[];
  /** If it is a group: all its items. */
  readonly items: readonly T[];
}

/**
 * Draws each group as one node. `shown` says how many of its items are nodes of their own: they stand between the group
 * and what depends on it.
 */
export function foldItems<T extends GroupedTask>(
  tasks: readonly T[],
  shown: (group: T, items: readonly T[]) => number,
): FoldedTask<T>[] {
  const items = new Map<string, T[]>();
  for (const task of tasks) {
    const { group } = task;
    if (group == null) continue;
    const known = items.get(group);
    if (known === undefined) items.set(group, [task]);
    else known.push(task);
  }
  if (items.size === 0) return tasks.map((task) => ({ task, dependsOn: task.dependsOn, items: [] }));
  const known = new Set(tasks.map(({ id }) => id));
  const opened = new Map<string, T[]>();
  for (const task of tasks) {
    const own = items.get(task.id);
    const count = own === undefined ? 0 : shown(task, own);
    if (count > 0) opened.set(task.id, own!.slice(0, count));
  }
  return tasks.flatMap((task): FoldedTask<T>[] => {
    const { id, group } = task;
    // The group of an item may have been cleared.
    if (group != null && known.has(group)) return [];
    const dependsOn = task.dependsOn.flatMap((other) => opened.get(other)?.map((item) => item.id) ?? [other]);
    const own = opened.get(id) ?? [];
    return [
      { task, dependsOn, items: items.get(id) ?? [] },
      ...own.map((item) => ({ task: item, dependsOn: [id], items: [] })),
    ];
  });
}
