import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { seqOf } from './keys.ts';
import { openRecord } from './open-record.ts';
import { type NewTask, NO_OPTIONS, type TaskOptions, type TaskRecord } from './records.ts';
import { OPEN } from './statuses.ts';
import { fromStored, type StoredText } from './text.ts';

type OpenRow = [
  key: number,
  id: StoredText,
  name: StoredText,
  tool: StoredText,
  params: StoredText,
  options: StoredText | null,
  addedAt: number,
  attempts: number,
  failures: number,
];

/** Reads tasks that are open. All of a batch are read when it starts, and most of what a task can have they have not. */
export class OpenTaskReader {
  private readonly select: StatementSyncInstance;

  constructor(reader: DatabaseSyncInstance) {
    this.select = reader.prepare(
      `SELECT t.key, t.id, t.name, t.function, t.params, t.options, t.added_at, s.attempts, s.failures
       FROM states s CROSS JOIN tasks t ON t.key = s.key
       WHERE s.status = ${OPEN} AND s.key > ? AND s.key <= ? ORDER BY s.key LIMIT ?`,
    );
    // Objects with names for each row take twice as long.
    this.select.setReturnArrays(true);
  }

  page(batch: string, after: number, until: number, limit: number): TaskRecord[] {
    const rows = this.select.all(after, until, limit) as unknown as OpenRow[];
    return rows.map((row) => recordOf(batch, row));
  }
}

function recordOf(
  batch: string,
  [key, id, name, tool, params, options, addedAt, attempts, failures]: OpenRow,
): TaskRecord {
  const task: NewTask = {
    id: fromStored(id),
    name: fromStored(name),
    function: fromStored(tool),
    params: fromStored(params),
    options: options === null ? NO_OPTIONS : (JSON.parse(fromStored(options)) as TaskOptions),
  };
  return openRecord(batch, seqOf(key), task, addedAt, attempts, failures);
}
