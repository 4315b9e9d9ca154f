import type { ReadyCall } from '../../coordinator/plan.ts';
import type { ExecutionHandle } from '../../engine/handle.ts';
import type { Store, TaskSummary, Unsuccessful } from '../../store/store.ts';
import type { PlannedTask } from './plan-tasks.ts';
import type { TaskRun } from './task-run.ts';

/** The state of a dependency when its dependent is submitted. */
type Standing =
  /** It is submitted together with its dependent. */
  | { readonly kind: 'new' }
  | { readonly kind: 'submitted'; readonly handle: ExecutionHandle }
  | { readonly kind: 'completed' }
  /** It was reopened after the open tasks were read. */
  | { readonly kind: 'opened'; readonly seq: number }
  /** It failed, was cancelled or skipped in an earlier run, or it was cleared. */
  | { readonly kind: 'unsuccessful'; readonly rootCause: string };

const NEW: Standing = { kind: 'new' };
const NO_DEPENDENCIES = { dependsOn: [], hasFailedDependency: false } as const;

/** The dependencies of tasks to submit: each other, submitted tasks, and tasks that ended in an earlier run. */
export class TaskDependencies {
  /** For items of groups: all dependencies are those of the group. */
  static readonly none = new TaskDependencies(new Map());

  private constructor(private readonly standings: ReadonlyMap<string, Standing>) {}

  static async read(
    store: Store,
    batch: string,
    tasks: readonly PlannedTask[],
    running: ReadonlyMap<string, TaskRun>,
  ): Promise<TaskDependencies> {
    const standings = new Map<string, Standing>();
    const needed = new Set<string>();
    for (const { planned } of tasks)
      if (planned.kind === 'ready') for (const id of planned.dependsOn) needed.add(id);
    // Most tasks depend on nothing.
    if (needed.size === 0) return new TaskDependencies(standings);
    for (const { record } of tasks) if (needed.delete(record.id)) standings.set(record.id, NEW);
    for (const id of needed) {
      const task = running.get(id);
      if (task === undefined) continue;
      needed.delete(id);
      standings.set(id, { kind: 'submitted', handle: task.handle });
    }
    const stored = needed.size === 0 ? undefined : await store.tasksById(batch, needed);
    for (const id of needed) standings.set(id, storedStanding(id, stored?.get(id)));
    return new TaskDependencies(standings);
  }

  /** The dependencies that were reopened and must be submitted as well, except those of tasks that are decided. */
  openedFor(tasks: readonly PlannedTask[]): Map<string, number> {
    const opened = new Map<string, number>();
    if (![...this.standings.values()].some(({ kind }) => kind === 'opened')) return opened;
    for (const { planned } of tasks) {
      if (planned.kind === 'refused' || this.endOf(planned) !== undefined) continue;
      for (const id of planned.dependsOn) {
        const standing = this.standings.get(id)!;
        if (standing.kind === 'opened') opened.set(id, standing.seq);
      }
    }
    return opened;
  }

  /** Returns the end of a task that earlier runs decided without running it. */
  endOf({ dependsOn, call }: ReadyCall): Unsuccessful | undefined {
    const { onDependencyFailure: policy = 'skip' } = call;
    if (policy === 'run' || dependsOn.length === 0) return undefined;
    const standings = dependsOn.map((id) => this.standings.get(id)!);
    const unsuccessful = standings.find((standing) => standing.kind === 'unsuccessful');
    if (unsuccessful !== undefined)
      return policy === 'skip' ? { status: 'skipped', cause: unsuccessful.rootCause } : undefined;
    const isUnneeded = policy === 'on-failure' && standings.every(({ kind }) => kind === 'completed');
    return isUnneeded ? { status: 'skipped', cause: undefined } : undefined;
  }

  /** Returns the dependencies in the engine's terms. */
  placementOf(
    { dependsOn: ids }: ReadyCall,
    executionId: (task: string) => string,
  ): { readonly dependsOn: readonly (string | ExecutionHandle)[]; readonly hasFailedDependency: boolean } {
    if (ids.length === 0) return NO_DEPENDENCIES;
    const dependsOn: (string | ExecutionHandle)[] = [];
    let hasFailedDependency = false;
    for (const id of ids) {
      const standing = this.standings.get(id)!;
      if (standing.kind === 'new') dependsOn.push(executionId(id));
      else if (standing.kind === 'submitted') dependsOn.push(standing.handle);
      else if (standing.kind === 'unsuccessful') hasFailedDependency = true;
    }
    return { dependsOn, hasFailedDependency };
  }
}

function storedStanding(id: string, task: TaskSummary | undefined): Standing {
  if (task?.status === 'completed') return { kind: 'completed' };
  if (task?.status === 'open') return { kind: 'opened', seq: task.seq };
  return { kind: 'unsuccessful', rootCause: (task?.status === 'skipped' ? task.cause : undefined) ?? id };
}
