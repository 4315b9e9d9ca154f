import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { checkNumber } from '../core/numbers.ts';
import { keyOf, lastKeyOf, MAX_SEQ } from './keys.ts';
import { LeaseTable } from './lease-table.ts';
import type { ProcessIdentity } from './process-identity.ts';
import type { BatchRecord, TaskRecord, TaskStatus } from './records.ts';
import { type BatchData, batchRecord, type TaskData, taskRecord } from './rows.ts';
import { statusNumber } from './statuses.ts';
import type { ResultRange, TaskQuery } from './store.ts';
import { PART_BYTES } from './task-table.ts';
import { asBuffer, fromStored, isContinuation, type StoredText, toStored } from './text.ts';

/** CROSS JOIN: the states lead, in the order of their index; the rest is looked up. */
const TASKS = `
  SELECT t.key, t.id, t.name, t.function, t.params, t.options, t.added_at, s.status, s.attempts, s.started_at,
    e.ended_at, e.reason, e.message, e.code, e.cause, e.result_bytes, e.preview
  FROM states s CROSS JOIN tasks t ON t.key = s.key LEFT JOIN ends e ON e.key = s.key`;
const PAGE = 's.key > ? AND s.key <= ? ORDER BY s.key LIMIT ?';
/** The longest character of UTF-8 goes on for so many bytes. */
const MOST_CONTINUATIONS = 3;

/** Reads what has been committed. */
export class Reader {
  private readonly leases: LeaseTable;
  private readonly allBatches: StatementSyncInstance;
  private readonly oneBatch: StatementSyncInstance;
  private readonly oneTask: StatementSyncInstance;
  private readonly anyStatus: StatementSyncInstance;
  private readonly oneStatus: StatementSyncInstance;
  private readonly resultOf: StatementSyncInstance;
  private readonly parts: StatementSyncInstance;

  constructor(
    private readonly reader: DatabaseSyncInstance,
    self: ProcessIdentity,
    now: () => number,
  ) {
    this.leases = new LeaseTable(reader, self, now);
    this.allBatches = reader.prepare('SELECT * FROM batches ORDER BY id');
    this.oneBatch = reader.prepare('SELECT * FROM batches WHERE name = ?');
    this.oneTask = reader.prepare(
      `${TASKS} WHERE s.key = (SELECT key FROM tasks WHERE batch = (SELECT id FROM batches WHERE name = ?) AND id = ?)`,
    );
    this.anyStatus = reader.prepare(`${TASKS} WHERE ${PAGE}`);
    this.oneStatus = reader.prepare(`${TASKS} WHERE s.status = ? AND ${PAGE}`);
    this.resultOf = reader.prepare(
      `SELECT e.key, e.result_bytes, e.preview FROM ends e WHERE e.result_bytes IS NOT NULL AND
       e.key = (SELECT key FROM tasks WHERE batch = (SELECT id FROM batches WHERE name = ?) AND id = ?)`,
    );
    this.parts = reader.prepare(
      'SELECT body FROM results WHERE key = ? AND part BETWEEN ? AND ? ORDER BY part',
    );
  }

  batches(): BatchRecord[] {
    return this.snapshot(() => (this.allBatches.all() as BatchData[]).map((row) => this.recordOf(row)));
  }

  batch(name: string): BatchRecord | undefined {
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(name)) as BatchData | undefined;
      return row && this.recordOf(row);
    });
  }

  task(batch: string, id: string): TaskRecord | undefined {
    const row = this.oneTask.get(toStored(batch), toStored(id)) as TaskData | undefined;
    return row && taskRecord(row, batch);
  }

  tasks(batch: string, { status, afterSeq = 0, limit }: TaskQuery): TaskRecord[] {
    checkNumber('limit', limit, { min: 0, integer: true });
    checkNumber('afterSeq', afterSeq, { min: 0, max: MAX_SEQ, integer: true });
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined) return [];
      const page = [keyOf(row.id, afterSeq), lastKeyOf(row.id), limit];
      return this.pageOf(status, page, limit).map((data) => taskRecord(data, batch));
    });
  }

  /** Of several statuses, a page of each is read, so that the work is bounded by the limit. */
  private pageOf(statuses: readonly TaskStatus[] | undefined, page: number[], limit: number): TaskData[] {
    if (statuses === undefined) return this.anyStatus.all(...page) as TaskData[];
    const wanted = [...new Set(statuses)];
    const found = wanted.flatMap((status) => this.oneStatus.all(statusNumber(status), ...page) as TaskData[]);
    return wanted.length > 1 ? found.sort((a, b) => a.key - b.key).slice(0, limit) : found;
  }

  result(batch: string, id: string, range: ResultRange | undefined): string | undefined {
    const { offset = 0, length = Number.MAX_SAFE_INTEGER } = range ?? {};
    checkNumber('offset', offset, { min: 0, integer: true });
    checkNumber('length', length, { min: 0, integer: true });
    return this.snapshot(() => {
      const row = this.resultOf.get(toStored(batch), toStored(id)) as ResultData | undefined;
      if (row === undefined) return undefined;
      const end = Math.min(row.result_bytes, offset + length);
      if (offset >= end) return '';
      const preview = fromStored(row.preview);
      if (offset === 0 && end === row.result_bytes && Buffer.byteLength(preview) === end) return preview;
      return this.readRange(row, preview, offset, end);
    });
  }

  /** A character belongs to the range in which it begins, so that ranges which meet make up the whole. */
  private readRange(row: ResultData, preview: string, offset: number, end: number): string {
    const isShort = Buffer.byteLength(preview) === row.result_bytes;
    const first = isShort ? 0 : Math.floor(offset / PART_BYTES);
    const last = Math.floor((end + MOST_CONTINUATIONS) / PART_BYTES);
    const bytes = isShort ? Buffer.from(preview) : this.readParts(row.key, first, last);
    let from = offset - first * PART_BYTES;
    let to = end - first * PART_BYTES;
    while (isContinuation(bytes[from])) from++;
    while (isContinuation(bytes[to])) to++;
    return bytes.toString('utf8', from, to);
  }

  private readParts(key: number, first: number, last: number): Buffer {
    const rows = this.parts.all(key, first, last) as { body: Uint8Array }[];
    return rows.length === 1 ? asBuffer(rows[0]!.body) : Buffer.concat(rows.map(({ body }) => body));
  }

  private recordOf(row: BatchData): BatchRecord {
    return batchRecord(row, this.leases.holderOf(row.id));
  }

  /** Several statements on one state of the store. */
  private snapshot<T>(read: () => T): T {
    this.reader.exec('BEGIN');
    try {
      return read();
    } finally {
      this.reader.exec('COMMIT');
    }
  }
}

interface ResultData {
  readonly key: number;
  readonly result_bytes: number;
  readonly preview: StoredText;
}
