import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { BatchTable } from './batch-table.ts';
import { keyOf, lastKeyOf } from './keys.ts';
import type { Leases } from './leases.ts';
import { FAILED, RUNNING } from './statuses.ts';
import type { Recovery } from './store.ts';
import type { TaskChanges } from './task-changes.ts';
import type { TaskTable } from './task-table.ts';
import { fromStored, type StoredText } from './text.ts';
import type { Steps } from './write-queue.ts';

const TASKS_PER_STEP = 100;

interface RunningRow {
  readonly key: number;
  readonly id: StoredText;
  readonly function: StoredText;
  readonly attempt_at: number | null;
  /** Whether its last attempt is known to have failed, and the next one had not begun. */
  readonly waits: 0 | 1;
}

type Found = { readonly batch: string; readonly id: string };

/** Looks after tasks whose process died while it ran them. */
export class Recoverer {
  private readonly suspects: StatementSyncInstance;
  private readonly running: StatementSyncInstance;
  private readonly fail: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
    private readonly tasks: TaskTable,
    private readonly changes: TaskChanges,
    private readonly leases: Leases,
  ) {
    this.suspects = writer.prepare('SELECT id, name FROM batches WHERE running > 0 ORDER BY id');
    this.running = writer.prepare(
      `SELECT key, id, function, attempt_at,
         EXISTS (SELECT 1 FROM attempts a WHERE a.key = states.key AND a.attempt = states.attempts) AS waits
       FROM states CROSS JOIN tasks USING (key)
       WHERE status = ${RUNNING} AND key BETWEEN ? AND ? LIMIT ${TASKS_PER_STEP}`,
    );
    this.fail = writer.prepare(`UPDATE states SET status = ${FAILED} WHERE key = ?`);
  }

  /** `only` may be a batch that this store has leased: then nothing of it may have been started under the lease. */
  *recover(isIdempotent: (name: string) => boolean, only: string | undefined, at: number): Steps<Recovery> {
    const reopened: Found[] = [];
    const crashed: Found[] = [];
    for (const row of this.suspects.all() as { id: number; name: StoredText }[]) {
      const batch = fromStored(row.name);
      if (only !== undefined && batch !== only) continue;
      const isOurs = only !== undefined && this.leases.isOwn(row.id);
      if (!isOurs && this.leases.isRun(row.id)) continue;
      const lastSeenAt = this.leases.takeLost(row.id) ?? at;
      for (let some = this.someOf(row.id); some.length > 0; some = this.someOf(row.id)) {
        for (const task of some) {
          const name = fromStored(task.function);
          const mayRunAgain = task.waits === 1 || isIdempotent(name);
          if (mayRunAgain) this.changes.reopenOne(row.id, task.key, RUNNING);
          else this.markCrashed(row.id, task, name, endOf(task, lastSeenAt, at));
          (mayRunAgain ? reopened : crashed).push({ batch, id: fromStored(task.id) });
        }
        yield;
      }
    }
    return { reopened, crashed };
  }

  private someOf(batchId: number): RunningRow[] {
    return this.running.all(keyOf(batchId, 0), lastKeyOf(batchId)) as RunningRow[];
  }

  private markCrashed(batchId: number, { key }: RunningRow, name: string, at: number): void {
    const end = {
      status: 'failed',
      reason: 'crashed',
      message:
        `The process that ran it ended in the middle of it, and ${name} is not declared idempotent, so it was not ` +
        'run again. Look at what it has done already; retry runs it once more.',
    } as const;
    this.fail.run(key);
    this.tasks.writeEnd(key, end, at);
    this.batches.changeCount(batchId, RUNNING, -1);
    this.batches.changeCount(batchId, FAILED, 1);
  }
}

/** About when it ended: somebody may look after it much later. The clock may have been set meanwhile. */
function endOf({ attempt_at }: RunningRow, lastSeenAt: number, now: number): number {
  return Math.trunc(Math.min(Math.max(attempt_at ?? 0, lastSeenAt), now));
}
