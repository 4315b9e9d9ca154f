import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { checkNumber } from '../core/numbers.ts';
import { AttemptReader } from './attempt-table.ts';
import { LeaseTable } from './leases.ts';
import type { ProcessIdentity } from './process-identity.ts';
import {
  bitsOf,
  charactersIn,
  checkQuery,
  MAX_USAGES,
  type OutlineRow,
  outline,
  partsOf,
  type ResultData,
  type SummaryData,
  shortResult,
  TASKS_PER_SCAN,
  taskSummary,
} from './reading.ts';
import type {
  AttemptRecord,
  BatchRecord,
  Delivery,
  StoredBlob,
  StoredUsage,
  TaskRecord,
  TaskStatus,
} from './records.ts';
import {
  asBuffer,
  type BatchData,
  batchRecord,
  CANCELLED,
  COMPLETED,
  FAILED,
  fromStored,
  keyOf,
  lastKeyOf,
  MAX_SEQ,
  OPEN,
  type OpenTaskRow,
  openTaskRecord,
  PART_BYTES,
  RUNNING,
  STATUSES,
  type StoredText,
  seqInKey,
  statusNumber,
  type TaskData,
  taskRecord,
  toStored,
  type UsageData,
  usageOf,
} from './rows.ts';
import type {
  AttemptPage,
  BatchWithTasks,
  ItemQuery,
  ItemResult,
  ResultRange,
  SlowestPage,
  TaskOutline,
  TaskQuery,
  TaskSummary,
} from './store.ts';

/** Failed attempts since the task was last opened. */
const EARLIER_MS = `CASE WHEN s.failures > 0 THEN (
    SELECT sum(b.duration_ms) FROM attempts b WHERE b.key = s.key AND b.attempt >= s.attempts - s.failures) END`;

/** CROSS JOIN fixes the order: states lead, in index order, and the rest is looked up. */
const TASKS = `
  SELECT t.key, t.id, t.name, t.function, t.params, t.options, t.added_at, s.status, s.attempts, s.failures,
    s.started_at, s.attempt_at, s.worker,
    e.ended_at, e.duration_ms, ${EARLIER_MS} AS earlier_ms, e.reason, e.message, e.code, e.cause, e.result_bytes, e.preview, e.cached,
    a.retry_at, a.reason AS retry_reason, a.message AS retry_message,
    u.memory_mb, u.cpu_ms, u.duration_ms AS used_ms,
    p.calls, p.input_tokens, p.output_tokens, p.cost_usd, p.unpriced
  FROM states s CROSS JOIN tasks t ON t.key = s.key LEFT JOIN ends e ON e.key = s.key
  LEFT JOIN attempts a ON a.key = s.key AND a.attempt = CASE s.status WHEN ${RUNNING} THEN s.attempts END
  LEFT JOIN usage u ON u.key = CASE s.status WHEN ${COMPLETED} THEN s.key END
  LEFT JOIN spending p ON p.key = s.key`;
const PAGE = 's.key > ? AND s.key <= ? AND (s.parent IS NULL OR ?) ORDER BY s.key LIMIT ?';
const PAGE_BACKWARDS = PAGE.replace('s.key LIMIT', 's.key DESC LIMIT');
const OPEN_TASKS = `
  SELECT t.key, t.id, t.name, t.function, t.params, t.options, t.added_at, s.attempts, s.failures
  FROM states s CROSS JOIN tasks t ON t.key = s.key WHERE s.status = ${OPEN}`;
const ITEMS = 's.parent = ? AND s.key > ? ORDER BY s.key LIMIT ?';

/** Reads committed data. */
export class Reader {
  private readonly leases: LeaseTable;
  private readonly allBatches: StatementSyncInstance;
  private readonly pageOfBatches: StatementSyncInstance;
  private readonly oneBatch: StatementSyncInstance;
  private readonly oneTask: StatementSyncInstance;
  private readonly oneSummary: StatementSyncInstance;
  private readonly newestIds: StatementSyncInstance;
  private readonly newestUsages: StatementSyncInstance;
  private readonly byKey: StatementSyncInstance;
  private readonly openTasks: StatementSyncInstance;
  private readonly openTask: StatementSyncInstance;
  private readonly openOutlines: StatementSyncInstance;
  private readonly openItems: StatementSyncInstance;
  private readonly someItems: StatementSyncInstance;
  private readonly resultsOfItems: StatementSyncInstance;
  private readonly someDeliveries: StatementSyncInstance;
  private readonly oneLog: StatementSyncInstance;
  private readonly oneKey: StatementSyncInstance;
  private readonly countsOfItems: StatementSyncInstance;
  private readonly anyFailure: StatementSyncInstance;
  private readonly slowestKeys: StatementSyncInstance;
  private readonly anyStatus: StatementSyncInstance;
  private readonly oneStatus: StatementSyncInstance;
  private readonly anyStatusBackwards: StatementSyncInstance;
  private readonly oneStatusBackwards: StatementSyncInstance;
  private readonly resultOf: StatementSyncInstance;
  private readonly parts: StatementSyncInstance;
  private readonly oneBlob: StatementSyncInstance;
  private readonly attemptReader: AttemptReader;
  private readonly dataVersion: StatementSyncInstance;

  constructor(
    private readonly reader: DatabaseSyncInstance,
    self: ProcessIdentity,
    now: () => number,
  ) {
    this.leases = new LeaseTable(reader, self, now);
    this.attemptReader = new AttemptReader(reader);
    this.dataVersion = reader.prepare('PRAGMA store.data_version');
    this.allBatches = reader.prepare('SELECT * FROM batches ORDER BY id');
    this.pageOfBatches = reader.prepare('SELECT * FROM batches WHERE id < ? ORDER BY id DESC LIMIT ?');
    this.oneBatch = reader.prepare('SELECT * FROM batches WHERE name = ?');
    this.oneTask = reader.prepare(
      `${TASKS} WHERE s.key = (SELECT key FROM tasks WHERE batch = (SELECT id FROM batches WHERE name = ?) AND id = ?)`,
    );
    this.oneSummary = reader.prepare(
      `SELECT t.key, t.function, s.status, s.attempts, s.parent, e.cause FROM tasks t CROSS JOIN states s ON s.key = t.key
       LEFT JOIN ends e ON e.key = t.key WHERE t.batch = ? AND t.id = ?`,
    );
    this.newestUsages = reader.prepare(
      `SELECT t.function, u.memory_mb, u.cpu_ms, u.duration_ms AS used_ms
       FROM (SELECT * FROM usage ORDER BY key DESC LIMIT ?) u CROSS JOIN tasks t ON t.key = u.key`,
    );
    this.newestIds = reader.prepare(
      'SELECT id FROM tasks WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT ?',
    );
    this.byKey = reader.prepare(`${TASKS} WHERE s.key = ?`);
    this.openTasks = reader.prepare(`${OPEN_TASKS} AND ${PAGE}`);
    this.openTasks.setReturnArrays(true);
    this.openTask = reader.prepare(`${OPEN_TASKS} AND s.key = ?`);
    this.openTask.setReturnArrays(true);
    this.openOutlines = reader.prepare(
      `SELECT t.key, t.id, t.function, t.options FROM states s CROSS JOIN tasks t ON t.key = s.key
       WHERE s.status = ${OPEN} AND s.parent IS NULL AND s.key > ? AND s.key <= ? ORDER BY s.key LIMIT ?`,
    );
    this.openOutlines.setReturnArrays(true);
    this.openItems = reader.prepare(`${OPEN_TASKS} AND ${ITEMS}`);
    this.openItems.setReturnArrays(true);
    this.someDeliveries = reader.prepare(
      'SELECT item AS "index", at FROM deliveries WHERE key = ? AND position >= ? ORDER BY position LIMIT ?',
    );
    this.oneLog = reader.prepare(
      `SELECT body FROM logs JOIN tasks USING (key) JOIN batches b ON b.id = batch WHERE b.name = ? AND tasks.id = ?`,
    );
    this.oneKey = reader.prepare(
      'SELECT t.key FROM batches b JOIN tasks t ON t.batch = b.id WHERE b.name = ? AND t.id = ?',
    );
    this.someItems = reader.prepare(`${TASKS} WHERE (? >> s.status) & 1 AND ${ITEMS}`);
    this.resultsOfItems = reader.prepare(
      `SELECT s.key, s.status, e.result_bytes, e.preview FROM states s LEFT JOIN ends e ON e.key = s.key WHERE ${ITEMS}`,
    );
    this.countsOfItems = reader.prepare(
      'SELECT status, count(*) AS count FROM states WHERE parent = ? GROUP BY status',
    );
    this.resultsOfItems.setReturnArrays(true);
    this.anyFailure = reader.prepare(
      `SELECT 1 FROM states s WHERE s.status IN (${FAILED}, ${CANCELLED}) AND s.key BETWEEN ? AND ?
         AND NOT EXISTS (SELECT 1 FROM states g WHERE g.key = s.parent AND g.status = ${COMPLETED}) LIMIT 1`,
    );
    this.slowestKeys = reader.prepare(
      `SELECT s.key FROM states s CROSS JOIN ends e ON e.key = s.key
       WHERE s.key > ? AND s.key <= ? AND s.started_at IS NOT NULL AND (? >> s.status) & 1
         AND NOT EXISTS (SELECT 1 FROM states i WHERE i.parent = s.key)
       ORDER BY coalesce(e.duration_ms, max(0, e.ended_at - coalesce(s.attempt_at, s.started_at))) DESC, s.key LIMIT ?`,
    );
    this.anyStatus = reader.prepare(`${TASKS} WHERE ${PAGE}`);
    this.oneStatus = reader.prepare(`${TASKS} WHERE s.status = ? AND ${PAGE}`);
    this.anyStatusBackwards = reader.prepare(`${TASKS} WHERE ${PAGE_BACKWARDS}`);
    this.oneStatusBackwards = reader.prepare(`${TASKS} WHERE s.status = ? AND ${PAGE_BACKWARDS}`);
    this.resultOf = reader.prepare(
      `SELECT e.key, e.result_bytes, e.preview FROM ends e WHERE e.result_bytes IS NOT NULL AND
       e.key = (SELECT key FROM tasks WHERE batch = (SELECT id FROM batches WHERE name = ?) AND id = ?)`,
    );
    this.parts = reader.prepare(
      'SELECT body FROM results WHERE key = ? AND part BETWEEN ? AND ? ORDER BY part',
    );
    this.oneBlob = reader.prepare(
      'SELECT mime_type, body FROM blobs WHERE batch = (SELECT id FROM batches WHERE name = ?) AND id = ?',
    );
  }

  batches(): BatchRecord[] {
    return this.snapshot(() => (this.allBatches.all() as BatchData[]).map((row) => this.recordOf(row)));
  }

  batchPage(beforeNumber = Number.MAX_SAFE_INTEGER, limit: number): BatchRecord[] {
    return this.snapshot(() =>
      (this.pageOfBatches.all(beforeNumber, limit) as BatchData[]).map((row) => this.recordOf(row)),
    );
  }

  batch(name: string): BatchRecord | undefined {
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(name)) as BatchData | undefined;
      return row && this.recordOf(row);
    });
  }

  batchWithTasks(name: string, queries: readonly TaskQuery[]): BatchWithTasks | undefined {
    for (const query of queries) checkQuery(query);
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(name)) as BatchData | undefined;
      if (row === undefined) return undefined;
      return { batch: this.recordOf(row), tasks: queries.map((query) => this.tasksOf(name, row, query)) };
    });
  }

  task(batch: string, id: string): TaskRecord | undefined {
    const row = this.oneTask.get(toStored(batch), toStored(id)) as TaskData | undefined;
    return row && taskRecord(row, batch);
  }

  tasksById(batch: string, ids: Iterable<string>): Map<string, TaskSummary> {
    return this.snapshot(() => {
      const found = new Map<string, TaskSummary>();
      const batchId = (this.oneBatch.get(toStored(batch)) as BatchData | undefined)?.id;
      if (batchId === undefined) return found;
      for (const id of ids) {
        const row = this.oneSummary.get(batchId, toStored(id)) as SummaryData | undefined;
        if (row !== undefined) found.set(id, taskSummary(id, row));
      }
      return found;
    });
  }

  usages(functions: ReadonlySet<string>): Map<string, StoredUsage[]> {
    const found = new Map<string, StoredUsage[]>();
    const rows = this.newestUsages.all(MAX_USAGES) as (UsageData & { readonly function: StoredText })[];
    for (const row of rows) {
      const name = fromStored(row.function);
      const usage = functions.has(name) ? usageOf(row) : undefined;
      if (usage !== undefined) found.set(name, [...(found.get(name) ?? []), usage]);
    }
    return found;
  }

  lastIds(batch: string, limit: number): string[] {
    checkNumber('limit', limit, { min: 0, integer: true });
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined) return [];
      const rows = this.newestIds.all(keyOf(row.id, 0), lastKeyOf(row.id), limit) as { id: StoredText }[];
      return rows.map(({ id }) => fromStored(id));
    });
  }

  tasks(batch: string, query: TaskQuery): TaskRecord[] {
    checkQuery(query);
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      return row === undefined ? [] : this.tasksOf(batch, row, query);
    });
  }

  private tasksOf(
    batch: string,
    row: BatchData,
    { status: requested, afterSeq = 0, beforeSeq, limit, withoutItems = false }: TaskQuery,
  ): TaskRecord[] {
    const { id: batchId } = row;
    // Searching for a status that no task has would scan all tasks.
    const status = requested?.filter((one) => row[one] > 0);
    if (status?.length === 0) return [];
    const last = beforeSeq === undefined ? lastKeyOf(batchId) : keyOf(batchId, beforeSeq - 1);
    const page = [keyOf(batchId, afterSeq), last, withoutItems ? 0 : 1, limit];
    // All open tasks of a batch are read when it starts.
    if (status?.length === 1 && status[0] === 'open' && beforeSeq === undefined) {
      const rows = this.openTasks.all(...page) as unknown as OpenTaskRow[];
      return rows.map((row) => openTaskRecord(batch, row));
    }
    return this.pageOf(status, page, beforeSeq !== undefined).map((data) => taskRecord(data, batch));
  }

  outlines(batch: string, query: Pick<TaskQuery, 'afterSeq' | 'limit'>): TaskOutline[] {
    checkQuery(query);
    const { afterSeq = 0, limit } = query;
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined || row.open === 0) return [];
      const page = [keyOf(row.id, afterSeq), lastKeyOf(row.id), limit] as const;
      return (this.openOutlines.all(...page) as unknown as OutlineRow[]).map(outline);
    });
  }

  openTasksOf(batch: string, seqs: readonly number[]): TaskRecord[] {
    return this.snapshot(() => {
      const id = (this.oneBatch.get(toStored(batch)) as BatchData | undefined)?.id;
      if (id === undefined) return [];
      const rows = seqs.map((seq) => this.openTask.get(keyOf(id, seq)) as OpenTaskRow | undefined);
      return rows.flatMap((row) => (row === undefined ? [] : [openTaskRecord(batch, row)]));
    });
  }

  items(batch: string, groupSeq: number, query: ItemQuery): TaskRecord[] {
    checkQuery(query);
    const { status = STATUSES, afterSeq = 0, limit } = query;
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined) return [];
      const page = [keyOf(row.id, groupSeq), keyOf(row.id, afterSeq), limit] as const;
      // All open items of a group are read when it runs.
      if (status.length === 1 && status[0] === 'open')
        return (this.openItems.all(...page) as unknown as OpenTaskRow[]).map((one) =>
          openTaskRecord(batch, one),
        );
      return (this.someItems.all(bitsOf(status), ...page) as TaskData[]).map((data) =>
        taskRecord(data, batch),
      );
    });
  }

  deliveries(batch: string, groupSeq: number, from: number, limit: number): Delivery[] {
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined) return [];
      return this.someDeliveries.all(keyOf(row.id, groupSeq), from, limit) as unknown as Delivery[];
    });
  }

  keyOfTask(batch: string, id: string): number | undefined {
    return (this.oneKey.get(toStored(batch), toStored(id)) as { key: number } | undefined)?.key;
  }

  log(batch: string, id: string): string | undefined {
    const row = this.oneLog.get(toStored(batch), toStored(id)) as { body: StoredText } | undefined;
    return row && fromStored(row.body);
  }

  itemCounts(batch: string, groupSeq: number): Record<TaskStatus, number> {
    return this.snapshot(() => {
      const counts = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined) return counts;
      const found = this.countsOfItems.all(keyOf(row.id, groupSeq)) as { status: number; count: number }[];
      for (const { status, count } of found) counts[STATUSES[status]!] = count;
      return counts;
    });
  }

  itemResults(
    batch: string,
    groupSeq: number,
    { afterSeq, limit, maxBytes }: { afterSeq: number; limit: number; maxBytes: number },
  ): ItemResult[] {
    checkQuery({ afterSeq, limit });
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined) return [];
      const page = [keyOf(row.id, groupSeq), keyOf(row.id, afterSeq), limit] as const;
      let bytes = 0;
      const rows = this.resultsOfItems.all(...page) as unknown as ItemRow[];
      return rows.map(([key, status, resultBytes, preview]) => {
        bytes += resultBytes ?? 0;
        const isRead = resultBytes !== null && bytes <= maxBytes;
        return {
          seq: seqInKey(key),
          status: STATUSES[status]!,
          result: isRead
            ? this.wholeResult({ key, result_bytes: resultBytes, preview: preview! })
            : undefined,
        };
      });
    });
  }

  slowest(batch: string, status: readonly TaskStatus[], afterSeq: number, limit: number): SlowestPage {
    checkNumber('limit', limit, { min: 0, integer: true });
    checkNumber('afterSeq', afterSeq, { min: 0, max: MAX_SEQ, integer: true });
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined) return { tasks: [], nextSeq: undefined };
      const untilSeq = Math.min(row.last_seq, afterSeq + TASKS_PER_SCAN);
      const [after, until] = [keyOf(row.id, afterSeq), keyOf(row.id, untilSeq)];
      const keys = this.slowestKeys.all(after, until, bitsOf(status), limit) as { key: number }[];
      const tasks = keys.map(({ key }) => taskRecord(this.byKey.get(key) as TaskData, batch));
      return { tasks, nextSeq: untilSeq < row.last_seq ? untilSeq : undefined };
    });
  }

  /** For several statuses, reads a page of each, so that the work is bounded by the limit. */
  private pageOf(
    statuses: readonly TaskStatus[] | undefined,
    page: number[],
    isBackwards: boolean,
  ): TaskData[] {
    const [any, one] = isBackwards
      ? [this.anyStatusBackwards, this.oneStatusBackwards]
      : [this.anyStatus, this.oneStatus];
    if (statuses === undefined) return any.all(...page) as TaskData[];
    const wanted = [...new Set(statuses)];
    const found = wanted.flatMap((status) => one.all(statusNumber(status), ...page) as TaskData[]);
    if (wanted.length < 2) return found;
    return found.sort((a, b) => (isBackwards ? b.key - a.key : a.key - b.key)).slice(0, page[3]);
  }

  result(batch: string, id: string, range: ResultRange | undefined): string | undefined {
    const { offset = 0, length = Number.MAX_SAFE_INTEGER } = range ?? {};
    checkNumber('offset', offset, { min: 0, integer: true });
    checkNumber('length', length, { min: 0, integer: true });
    return this.snapshot(() => this.resultPart(batch, id, offset, length));
  }

  results(batch: string, ids: Iterable<string>): Map<string, string> {
    return this.snapshot(() => {
      const found = new Map<string, string>();
      for (const id of ids) {
        const text = this.resultPart(batch, id, 0, Number.MAX_SAFE_INTEGER);
        if (text !== undefined) found.set(id, text);
      }
      return found;
    });
  }

  private resultPart(batch: string, id: string, offset: number, length: number): string | undefined {
    const row = this.resultOf.get(toStored(batch), toStored(id)) as ResultData | undefined;
    if (row === undefined) return undefined;
    const end = Math.min(row.result_bytes, offset + length);
    if (offset >= end) return '';
    if (offset === 0 && end === row.result_bytes) return this.wholeResult(row);
    return this.readRange(row, offset, end);
  }

  private wholeResult(row: ResultData): string {
    return shortResult(row) ?? this.readRange(row, 0, row.result_bytes);
  }

  resultBytes(batch: string, id: string, { offset, length }: ResultRange): Buffer | undefined {
    checkNumber('offset', offset, { min: 0, integer: true });
    checkNumber('length', length, { min: 0, integer: true });
    return this.snapshot(() => {
      const row = this.resultOf.get(toStored(batch), toStored(id)) as ResultData | undefined;
      if (row === undefined) return undefined;
      const end = Math.min(row.result_bytes, offset + length);
      if (offset >= end) return Buffer.alloc(0);
      const preview = Buffer.from(fromStored(row.preview));
      if (preview.length === row.result_bytes) return preview.subarray(offset, end);
      const first = Math.floor(offset / PART_BYTES);
      const bytes = this.readParts(row.key, first, Math.floor((end - 1) / PART_BYTES));
      return bytes.subarray(offset - first * PART_BYTES, end - first * PART_BYTES);
    });
  }

  blob(batch: string, id: string): StoredBlob | undefined {
    const row = this.oneBlob.get(toStored(batch), id) as { mime_type: string; body: Uint8Array } | undefined;
    return row && { id, mimeType: row.mime_type, bytes: row.body };
  }

  attempts(batch: string, { afterSeq = 0, limit }: Omit<TaskQuery, 'status'>): AttemptPage {
    checkNumber('limit', limit, { min: 1, integer: true });
    checkNumber('afterSeq', afterSeq, { min: 0, max: MAX_SEQ, integer: true });
    return this.snapshot(() => {
      const row = this.oneBatch.get(toStored(batch)) as BatchData | undefined;
      if (row === undefined) return { attempts: [], lastSeq: undefined };
      const end = lastKeyOf(row.id);
      const { attempts, lastKey } = this.attemptReader.page(keyOf(row.id, afterSeq), end, limit);
      return { attempts, lastSeq: lastKey === undefined ? undefined : seqInKey(lastKey) };
    });
  }

  attemptsOf(batch: string, id: string): AttemptRecord[] {
    return this.snapshot(() => {
      const row = this.oneTask.get(toStored(batch), toStored(id)) as TaskData | undefined;
      return row === undefined ? [] : this.attemptReader.page(row.key - 1, row.key, 1).attempts;
    });
  }

  version(): number {
    return (this.dataVersion.get() as { data_version: number }).data_version;
  }

  private readRange(row: ResultData, offset: number, end: number): string {
    const short = shortResult(row);
    if (short !== undefined) return charactersIn(Buffer.from(short), offset, end);
    const { first, last } = partsOf(offset, end);
    const before = first * PART_BYTES;
    return charactersIn(this.readParts(row.key, first, last), offset - before, end - before);
  }

  private readParts(key: number, first: number, last: number): Buffer {
    const rows = this.parts.all(key, first, last) as { body: Uint8Array }[];
    return rows.length === 1 ? asBuffer(rows[0]!.body) : Buffer.concat(rows.map(({ body }) => body));
  }

  private recordOf(row: BatchData): BatchRecord {
    const { id, open, running, failed, cancelled } = row;
    let hasFailures = failed + cancelled > 0;
    if (hasFailures && open + running === 0)
      hasFailures = this.anyFailure.get(keyOf(id, 0), keyOf(id, MAX_SEQ)) !== undefined;
    return batchRecord(row, this.leases.holderOf(id), hasFailures);
  }

  /** Runs several statements on one snapshot of the store. */
  private snapshot<T>(read: () => T): T {
    this.reader.exec('BEGIN');
    try {
      return read();
    } finally {
      this.reader.exec('COMMIT');
    }
  }
}

/** As an array: objects take twice as long. */
type ItemRow = [key: number, status: number, resultBytes: number | null, preview: StoredText | null];
