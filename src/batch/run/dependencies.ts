import type { DependencyPolicy } from '../../core/terms.ts';
import type { ExecutionHandle } from '../../engine/handle.ts';
import type { TaskEnd, TaskRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
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

/** What tasks that are about to be submitted depend on: each other, what runs, and what ended in an earlier run. */
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

  of(id: string): Standing {
    this.ids ??= new Set(this.submitted.map((record) => record.id));
    if (this.ids.has(id)) return { kind: 'submitted' };
    const task = this.running.get(id);
    if (task !== undefined) return { kind: 'known', handle: task.handle };
    let standing = this.stored.get(id);
    if (standing === undefined) {
      standing = this.read(id);
      this.stored.set(id, standing);
    }
    return standing;
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

  private read(id: string): Standing {
    const record = this.store.task(this.batch, id);
    if (record?.status === 'completed') return { kind: 'completed' };
    if (record?.status === 'open') return { kind: 'opened' };
    return { kind: 'ended', cause: (record?.status === 'skipped' ? record.cause : undefined) ?? id };
  }
}
