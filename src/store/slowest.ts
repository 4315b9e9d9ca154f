import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { TaskStatus } from './records.ts';
import { statusNumber } from './statuses.ts';

/** So many tasks are looked at in one go: some milliseconds. */
export const TASKS_PER_LOOK = 10_000;

/** Finds the tasks that took longest, without reading the others out. */
export class SlowestReader {
  private readonly select: StatementSyncInstance;

  constructor(reader: DatabaseSyncInstance) {
    this.select = reader.prepare(
      `SELECT s.key FROM states s CROSS JOIN ends e ON e.key = s.key
       WHERE s.key > ? AND s.key <= ? AND s.started_at IS NOT NULL AND (? >> s.status) & 1
       ORDER BY coalesce(e.duration_ms, max(0, e.ended_at - coalesce(s.attempt_at, s.started_at))) DESC, s.key LIMIT ?`,
    );
  }

  /** Keys of tasks behind `after` and up to `until`, the slowest first. */
  keys(after: number, until: number, statuses: readonly TaskStatus[], limit: number): number[] {
    const wanted = statuses.reduce((bits, status) => bits | (1 << statusNumber(status)), 0);
    return (this.select.all(after, until, wanted, limit) as { key: number }[]).map(({ key }) => key);
  }
}
