import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { type AttemptData, attemptRecords, MAX_LISTED } from './reading.ts';
import type { AttemptRecord, FailedAttempt } from './records.ts';
import { CANCELLED, FAILED, RUNNING, toStored } from './rows.ts';

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
    return { attempts: attemptRecords(tasks, rows), lastKey };
  }
}
