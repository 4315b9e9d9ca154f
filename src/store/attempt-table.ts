import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { FailureReason } from '../core/failure.ts';
import type { AttemptRecord, FailedAttempt } from './records.ts';
import {
  CANCELLED,
  FAILED,
  fromStored,
  fromStoredOrNull,
  RUNNING,
  STATUSES,
  type StoredText,
  seqInKey,
  spanBetween,
  toStored,
} from './rows.ts';

/** The most attempts of one task that are listed, newest first. */
const MAX_LISTED = 100;
const COLUMNS =
  '(key, attempt, started_at, ended_at, status, reason, message, retry_at, duration_ms, worker)';

/**
 * Attempts that were, or may be, followed by another. The last attempt is stored with the task itself, so an execution
 * that succeeds at once costs nothing here.
 */
export class AttemptWrites {
  private readonly fail: StatementSyncInstance;
  private readonly count: StatementSyncInstance;
  private readonly keep: StatementSyncInstance;
  private readonly crash: StatementSyncInstance;

  constructor(writer: DatabaseSyncInstance) {
    // An existing row means that the task ended during the pause after that attempt.
    this.fail = writer.prepare(
      `INSERT OR IGNORE INTO attempts ${COLUMNS}
       SELECT key, attempts, ?, ?, ${FAILED}, ?, ?, ?, ?, worker FROM states WHERE key = ? AND status = ${RUNNING}`,
    );
    this.count = writer.prepare('UPDATE states SET failures = failures + 1 WHERE key = ?');
    this.keep = writer.prepare(
      `INSERT OR IGNORE INTO attempts ${COLUMNS}
       SELECT key, attempts, attempt_at, ended_at, status, reason, message, NULL, duration_ms, worker FROM states JOIN ends USING (key)
       WHERE key = ? AND attempts > 0 AND status IN (${FAILED}, ${CANCELLED})`,
    );
    this.crash = writer.prepare(
      `INSERT OR IGNORE INTO attempts ${COLUMNS}
       SELECT key, attempts, attempt_at, NULL, ${FAILED}, 'crashed', NULL, NULL, NULL, worker FROM states WHERE key = ? AND attempts > 0`,
    );
  }

  /** Records that the current attempt of a running task failed and another will follow. */
  failed(key: number, { startedAt, endedAt, durationMs, reason, message, retryAt }: FailedAttempt): void {
    const times = [Math.trunc(startedAt), Math.trunc(endedAt)] as const;
    const next = retryAt === undefined ? null : Math.trunc(retryAt);
    const ms = durationMs === undefined ? null : Math.trunc(durationMs);
    const { changes } = this.fail.run(...times, reason, toStored(message), next, ms, key);
    if (changes === 1) this.count.run(key);
  }

  /** Moves the task's end into its attempts before it is reopened. */
  beforeReopening(key: number, before: number): void {
    (before === RUNNING ? this.crash : this.keep).run(key);
  }
}

interface AttemptData {
  readonly key: number;
  readonly id: StoredText;
  readonly attempt: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly duration_ms: number | null;
  readonly status: number;
  readonly reason: FailureReason | null;
  readonly message: StoredText | null;
  readonly worker: string | null;
}

/** Reads the attempts of tasks, the last ones included. */
export class AttemptReader {
  private readonly last: StatementSyncInstance;
  private readonly earlier: StatementSyncInstance;

  constructor(reader: DatabaseSyncInstance) {
    this.last = reader.prepare(
      `SELECT s.key, t.id, s.attempts AS attempt, coalesce(s.attempt_at, s.started_at, e.ended_at) AS started_at,
         e.ended_at, e.duration_ms, s.status, e.reason, e.message, s.worker
       FROM states s CROSS JOIN tasks t ON t.key = s.key LEFT JOIN ends e ON e.key = s.key
       WHERE s.key > ? AND s.key <= ? ORDER BY s.key LIMIT ?`,
    );
    this.earlier = reader.prepare(
      `SELECT a.*, t.id FROM states s CROSS JOIN attempts a ON a.key = s.key AND a.attempt > s.attempts - ${MAX_LISTED}
       CROSS JOIN tasks t ON t.key = s.key
       WHERE s.key > ? AND s.key <= ? ORDER BY a.key, a.attempt`,
    );
  }

  /** The attempts of a page of tasks after a key, and the key of the last task. */
  page(
    after: number,
    until: number,
    limit: number,
  ): { attempts: AttemptRecord[]; lastKey: number | undefined } {
    const tasks = this.last.all(after, until, limit) as AttemptData[];
    const lastKey = tasks.at(-1)?.key;
    if (lastKey === undefined) return { attempts: [], lastKey };
    const rows = this.earlier.all(after, lastKey) as AttemptData[];
    const known = new Set(rows.map(({ key, attempt }) => `${key} ${attempt}`));
    for (const task of tasks)
      if (isAttempt(task) && !known.has(`${task.key} ${task.attempt}`)) rows.push(task);
    rows.sort((a, b) => a.key - b.key || a.attempt - b.attempt);
    return { attempts: rows.map(attemptRecord), lastKey };
  }
}

/** Whether the row describes an attempt: not for a task that is open or was skipped. */
function isAttempt({ attempt, status }: AttemptData): boolean {
  return attempt > 0 && STATUSES[status] !== 'open' && STATUSES[status] !== 'skipped';
}

function attemptRecord(row: AttemptData): AttemptRecord {
  const status = STATUSES[row.status] as 'running' | 'completed' | 'failed' | 'cancelled';
  return {
    seq: seqInKey(row.key),
    id: fromStored(row.id),
    attempt: row.attempt,
    startedAt: row.started_at ?? row.ended_at ?? 0,
    endedAt: row.ended_at ?? undefined,
    durationMs: row.duration_ms ?? spanBetween(row.started_at, row.ended_at),
    outcome: row.reason === 'crashed' ? 'crashed' : status,
    reason: row.reason ?? undefined,
    message: fromStoredOrNull(row.message),
    ...(row.worker !== null && { worker: row.worker }),
  };
}
