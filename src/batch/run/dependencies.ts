import type { DependencyPolicy } from '../../core/terms.ts';
import type { ExecutionHandle } from '../../engine/handle.ts';
import type { TaskEnd, TaskRecord } from '../../store/records.ts';
import type { Store, TaskSummary } from '../../store/store.ts';
import type { TaskRun } from './task-run.ts';

/** How a dependency stands when its dependent is submitted. */
type Standing =
  | { readonly kind: 'submitted' }
  | { readonly kind: 'known'; readonly handle: ExecutionHandle }
  | { readonly kind: 'completed' }
  /** It was opened again since those that are about to be submitted were read. */
  | { readonly kind: 'opened' }
  /** It ended otherwise, and this is the root cause. */
  | { readonly kind: 'ended'; readonly cause: string };

/**
 * What tasks that are about to be submitted depend on: each other, what runs, and what ended in an earlier run. The
 * last must be read before it is asked for.
 */
export class Dependencies {
  private readonly stored = new Map<string, Standing>();
  /** Made when it is asked for: most tasks depend on nothing. */
  private ids: ReadonlySet<string> | undefined;

  constructor(
    private readonly store: Store,
    private readonly batch: string,
    private readonly submitted: readonly TaskRecord[],
    private readonly running: ReadonlyMap<string, TaskRun>,
  ) {}

  /** Of these ids, those of which nothing is known before {@link read}: they neither run nor are about to. */
  unread(ids: Iterable<string>): Set<string> {
    const unread = new Set<string>();
    for (const id of ids) if (!this.stored.has(id) && !this.isRun(id)) unread.add(id);
    return unread;
  }

  /** Something that runs may end meanwhile, and is unread then. */
  async read(ids: ReadonlySet<string>): Promise<void> {
    const found = await this.store.tasksById(this.batch, ids);
    for (const id of ids) this.stored.set(id, standingOf(id, found.get(id)));
  }

  of(id: string): Standing {
    if (this.isSubmitted(id)) return { kind: 'submitted' };
    const task = this.running.get(id);
    return task === undefined ? this.stored.get(id)! : { kind: 'known', handle: task.handle };
  }

  /** Whether one of these must run first that is not among those that are about to be submitted, nor submitted. */
  lacks(ids: readonly string[]): boolean {
    return ids.some((id) => this.of(id).kind === 'opened');
  }

  /** How a task ends before it began, if what ended in an earlier run decides that. */
  endBefore(ids: readonly string[], policy: DependencyPolicy): TaskEnd | undefined {
    if (policy === 'run' || ids.length === 0) return undefined;
    const standings = ids.map((id) => this.of(id));
    const ended = standings.find(({ kind }) => kind === 'ended');
    if (ended?.kind === 'ended')
      return policy === 'skip' ? { status: 'skipped', cause: ended.cause } : undefined;
    const isUnneeded = policy === 'on-failure' && standings.every(({ kind }) => kind === 'completed');
    return isUnneeded ? { status: 'skipped', cause: undefined } : undefined;
  }

  private isSubmitted(id: string): boolean {
    this.ids ??= new Set(this.submitted.map((record) => record.id));
    return this.ids.has(id);
  }

  private isRun(id: string): boolean {
    return this.isSubmitted(id) || this.running.has(id);
  }
}

function standingOf(id: string, task: TaskSummary | undefined): Standing {
  if (task?.status === 'completed') return { kind: 'completed' };
  if (task?.status === 'open') return { kind: 'opened' };
  return { kind: 'ended', cause: (task?.status === 'skipped' ? task.cause : undefined) ?? id };
}
