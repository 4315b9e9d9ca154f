import type { StoredCachedEntry } from '../../coordinator/result-cache.ts';
import { checkNumber } from '../../core/numbers.ts';
import {
  type AttemptData,
  attemptRecords,
  bitsOf,
  charactersIn,
  checkQuery,
  linesFrom,
  MAX_LISTED,
  MAX_USAGES,
  type OutlineRow,
  outline,
  partsOf,
  type ResultData,
  type SummaryData,
  shortResult,
  TASKS_PER_SCAN,
  taskSummary,
} from '../reading.ts';
import type {
  AttemptRecord,
  BatchRecord,
  CacheUse,
  Delivery,
  KeptOutput,
  StoredBlob,
  StoredUsage,
  TaskRecord,
  TaskStatus,
} from '../records.ts';
import {
  type BatchData,
  batchRecord,
  CANCELLED,
  COMPLETED,
  FAILED,
  fromStored,
  fromStoredOrNull,
  keyOf,
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
  type UsageData,
  usageOf,
} from '../rows.ts';
import type {
  AttemptPage,
  BatchWithTasks,
  HolderRequest,
  ItemQuery,
  ItemResult,
  OutputPage,
  ResultRange,
  SlowestPage,
  TaskOutline,
  TaskQuery,
  TaskSummary,
} from '../store.ts';
import type { Database, Statements } from './connection.ts';
import type { Holders, LeaseRow } from './holders.ts';
import { toText } from './text.ts';

/** The keys of a batch, given its name as $1: a number that is known before the rest is planned. */
const BATCH = '(SELECT id FROM batches WHERE name = $1)';
const SPAN = keyOf(1, 0);
const KEY = (seq: string) => `${BATCH} * ${SPAN} + ${seq}`;
const LAST_KEY = KEY(String(MAX_SEQ));

/** A batch with its lease, and the time by which that is judged. Failures matter as `BatchRecord` says. */
const BATCHES = `
  SELECT b.*, l.batch AS lease_batch, l.epoch AS lease_epoch, l.pid, l.host, l.boot, l.namespace, l.process_start, l.since,
    l.seen_at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
    CASE WHEN b.failed + b.cancelled = 0 THEN false WHEN b.open + b.running > 0 THEN true ELSE EXISTS (
      SELECT 1 FROM states s WHERE s.status IN (${FAILED}, ${CANCELLED})
        AND s.key BETWEEN b.id * ${SPAN} AND b.id * ${SPAN} + ${MAX_SEQ}
        AND NOT EXISTS (SELECT 1 FROM states g WHERE g.key = s.parent AND g.status = ${COMPLETED})
    ) END AS has_failures
  FROM batches b LEFT JOIN leases l ON l.batch = b.id`;
const ONE_BATCH = `${BATCHES} WHERE b.name = $1`;
const ALL_BATCHES = `${BATCHES} ORDER BY b.id`;
const PAGE_OF_BATCHES = `${BATCHES} WHERE b.id < $1 ORDER BY b.id DESC LIMIT $2`;

/** Failed attempts since the task was last opened. */
const EARLIER_MS = `CASE WHEN s.failures > 0 THEN (
    SELECT sum(b.duration_ms) FROM attempts b WHERE b.key = s.key AND b.attempt >= s.attempts - s.failures) END`;
const TASK_COLUMNS = `
  t.key, t.id, t.name, t.function, t.params, t.options, t.added_at, s.status, s.attempts, s.failures, s.started_at,
  s.attempt_at, s.worker, e.ended_at, e.duration_ms, ${EARLIER_MS} AS earlier_ms, e.reason, e.message, e.code, e.cause,
  e.result_bytes, e.preview, e.cached, a.retry_at, a.reason AS retry_reason, a.message AS retry_message, u.memory_mb,
  u.cpu_ms, u.duration_ms AS used_ms, p.calls, p.input_tokens, p.output_tokens, p.cost_usd, p.unpriced`;
const TASK_TABLES = `
  states s JOIN tasks t ON t.key = s.key LEFT JOIN ends e ON e.key = s.key
  LEFT JOIN attempts a ON s.status = ${RUNNING} AND a.key = s.key AND a.attempt = s.attempts
  LEFT JOIN usage u ON s.status = ${COMPLETED} AND u.key = s.key LEFT JOIN spending p ON p.key = s.key`;
const TASKS = `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES}`;
/** The tasks of a page of keys. */
const TASKS_OF = (page: string, order = 'ASC') => `
  WITH page AS MATERIALIZED (${page}) ${TASKS} WHERE s.key IN (SELECT key FROM page) ORDER BY s.key ${order}`;
const OPEN_COLUMNS =
  't.key, t.id, t.name, t.function, t.params, t.options, t.added_at, s.attempts, s.failures';
const OPEN_OF = (page: string) => `
  WITH s AS MATERIALIZED (${page})
  SELECT ${OPEN_COLUMNS} FROM s JOIN tasks t ON t.key = s.key ORDER BY s.key`;

const ONE_KEY = `(SELECT key FROM tasks WHERE batch = ${BATCH} AND id = $2)`;
const ONE_TASK = `${TASKS} WHERE s.key = ${ONE_KEY}`;
const RANGE = `s.key > ${KEY('$2')} AND s.key <= ${KEY('$3')} AND (s.parent IS NULL OR $4)`;
const ANY_PAGE = (order: string) =>
  `SELECT s.key FROM states s WHERE ${RANGE} ORDER BY s.key ${order} LIMIT $5`;
/** A page of each status, so that the work is bounded by the limit. */
const STATUS_PAGE = (order: string) => `
  SELECT k.key FROM unnest($6::smallint[]) w (status) CROSS JOIN LATERAL (
    SELECT s.key FROM states s WHERE s.status = w.status AND ${RANGE} ORDER BY s.key ${order} LIMIT $5) k
  ORDER BY k.key ${order} LIMIT $5`;
const OPEN_STATES = `SELECT s.key, s.attempts, s.failures FROM states s WHERE s.status = ${OPEN}`;
const OPEN_PAGE = `${OPEN_STATES} AND ${RANGE} ORDER BY s.key LIMIT $5`;
const PAGES = {
  any: TASKS_OF(ANY_PAGE('ASC')),
  anyBackwards: TASKS_OF(ANY_PAGE('DESC'), 'DESC'),
  some: TASKS_OF(STATUS_PAGE('ASC')),
  someBackwards: TASKS_OF(STATUS_PAGE('DESC'), 'DESC'),
  open: OPEN_OF(OPEN_PAGE),
} as const;
const OUTLINES = `
  WITH page AS MATERIALIZED (
    SELECT s.key FROM states s WHERE s.status = ${OPEN} AND s.parent IS NULL AND s.key > ${KEY('$2')} AND s.key <= ${LAST_KEY}
    ORDER BY s.key LIMIT $3)
  SELECT t.key, t.id, t.function, t.options FROM page JOIN tasks t ON t.key = page.key ORDER BY t.key`;
const OPEN_BY_SEQ = `
  SELECT ${OPEN_COLUMNS} FROM unnest($2::bigint[]) WITH ORDINALITY w (seq, n)
  JOIN states s ON s.key = ${KEY('w.seq')} AND s.status = ${OPEN} JOIN tasks t ON t.key = s.key ORDER BY w.n`;
const ITEM_RANGE = `s.parent = ${KEY('$2')} AND s.key > ${KEY('$3')}`;
const OPEN_ITEMS = OPEN_OF(`${OPEN_STATES} AND ${ITEM_RANGE} ORDER BY s.key LIMIT $4`);
const SOME_ITEMS = TASKS_OF(
  `SELECT s.key FROM states s WHERE s.status = ANY($5::smallint[]) AND ${ITEM_RANGE} ORDER BY s.key LIMIT $4`,
);
/** Results are added up as far as they go: the rest is not read. */
const ITEM_RESULTS = `
  WITH items AS MATERIALIZED (
    SELECT s.key, s.status, e.result_bytes, e.preview FROM states s LEFT JOIN ends e ON e.key = s.key
    WHERE ${ITEM_RANGE} ORDER BY s.key LIMIT $4),
  sums AS (SELECT *, sum(coalesce(result_bytes, 0)) OVER (ORDER BY key) <= $5 AND result_bytes IS NOT NULL AS is_read FROM items)
  SELECT i.key, i.status, i.is_read, i.result_bytes, CASE WHEN i.is_read THEN i.preview END AS preview,
    CASE WHEN i.is_read THEN (
      SELECT string_agg(r.body, ''::bytea ORDER BY r.part) FROM results r WHERE r.key = i.key) END AS body
  FROM sums i ORDER BY i.key`;
const ITEM_COUNTS = `SELECT status, count(*) AS count FROM states WHERE parent = ${KEY('$2')} GROUP BY status`;
const SUMMARIES = `
  SELECT t.id, t.key, t.function, s.status, s.attempts, s.parent, e.cause FROM tasks t JOIN states s ON s.key = t.key
  LEFT JOIN ends e ON e.key = t.key WHERE t.batch = ${BATCH} AND t.id = ANY($2::text[])`;
const USAGES = `
  SELECT t.function, u.memory_mb, u.cpu_ms, u.duration_ms AS used_ms
  FROM (SELECT * FROM usage ORDER BY key DESC LIMIT ${MAX_USAGES}) u JOIN tasks t ON t.key = u.key ORDER BY u.key DESC`;
const LAST_IDS = `
  SELECT id FROM tasks WHERE key BETWEEN ${KEY('0')} AND ${LAST_KEY} ORDER BY key DESC LIMIT $2`;
const DELIVERIES = `
  SELECT item AS "index", at FROM deliveries WHERE key = ${KEY('$2')} AND position >= $3 ORDER BY position LIMIT $4`;
const LOG = `SELECT body FROM logs WHERE key = ${ONE_KEY}`;
/** Whether a task has items is looked up for the slowest ones only. */
const SLOWEST = `
  SELECT o.key FROM (
    SELECT s.key, coalesce(e.duration_ms, greatest(0, e.ended_at - coalesce(s.attempt_at, s.started_at))) AS ms
    FROM states s JOIN ends e ON e.key = s.key
    WHERE s.key > ${KEY('$2')} AND s.key <= ${KEY('$3')} AND s.started_at IS NOT NULL AND (($4::integer >> s.status) & 1) = 1
    ORDER BY ms DESC, s.key OFFSET 0) o
  WHERE NOT EXISTS (SELECT 1 FROM states i WHERE i.parent = o.key) ORDER BY o.ms DESC, o.key LIMIT $5`;
const LAST_SEQ = 'SELECT last_seq FROM batches WHERE name = $1';
const TASKS_BY_KEY = `${TASKS} WHERE s.key = ANY($1::bigint[])`;
/** A result and some of its parts. */
const RESULT_COLUMNS = (first: string, last: string) => `
  e.key, e.result_bytes, e.preview, (
    SELECT string_agg(r.body, ''::bytea ORDER BY r.part) FROM results r
    WHERE r.key = e.key AND r.part BETWEEN ${first} AND ${last}) AS body`;
const RESULTS = `
  SELECT t.id, ${RESULT_COLUMNS('$3', '$4')} FROM tasks t JOIN ends e ON e.key = t.key
  WHERE t.batch = ${BATCH} AND t.id = ANY($2::text[]) AND e.result_bytes IS NOT NULL`;
const MAX_PART = 2 ** 31 - 1;
const BLOB = `SELECT mime_type, body FROM blobs WHERE batch = ${BATCH} AND id = $2`;
const LAST_ATTEMPTS = `
  SELECT s.key, t.id, s.attempts AS attempt, coalesce(s.attempt_at, s.started_at, e.ended_at) AS started_at, e.ended_at,
    e.duration_ms, s.status, e.reason, e.message, s.worker
  FROM states s JOIN tasks t ON t.key = s.key LEFT JOIN ends e ON e.key = s.key`;
const ATTEMPTS_PAGE = `${LAST_ATTEMPTS} WHERE s.key > ${KEY('$2')} AND s.key <= ${LAST_KEY} ORDER BY s.key LIMIT $3`;
const ATTEMPTS_OF_ONE = `${LAST_ATTEMPTS} WHERE s.key = ${ONE_KEY}`;
const EARLIER_ATTEMPTS = `
  SELECT a.*, t.id FROM states s JOIN attempts a ON a.key = s.key AND a.attempt > s.attempts - ${MAX_LISTED}
  JOIN tasks t ON t.key = s.key WHERE s.key BETWEEN $1 AND $2`;
const KEPT_OUTPUT = `
  SELECT attempt, min(first) AS "firstLine", max(first + lines) AS "endLine", sum(bytes) AS bytes
  FROM output WHERE key = ${ONE_KEY} GROUP BY attempt ORDER BY attempt`;
const OUTPUT = `
  SELECT first, body FROM output WHERE key = ${ONE_KEY} AND attempt = $3 AND first + lines > $4 ORDER BY first LIMIT 1`;
const VERSION = 'SELECT sum(writes) AS version FROM writers';
const CACHED = `
  SELECT function, created_at, used_at, signature, body FROM cache
  WHERE key = $1 AND bytes <= $2 AND length(body) <= $2`;
const CACHE_USE = `
  SELECT function, count(*) AS results, sum(bytes) AS bytes, max(used_at) AS used_at
  FROM cache GROUP BY function ORDER BY sum(bytes) DESC, function`;
const ASKED = `SELECT id, body FROM requests WHERE answer IS NULL AND batch = ${BATCH} ORDER BY id`;
const ANSWER = 'SELECT answer FROM requests WHERE id = $1';

type BatchRow = BatchData &
  Omit<LeaseRow, 'batch' | 'epoch'> & {
    readonly lease_batch: number | null;
    readonly lease_epoch: number;
    readonly has_failures: boolean;
    readonly now: number;
  };
/** The parts that were read, put together; null if it has none. */
type ResultRow = ResultData & { readonly id: StoredText; readonly body: Buffer | null };
type ItemRow = ResultRow & { readonly status: number; readonly is_read: boolean };

/** Reads committed data. Each read is one statement, or several that see one state. */
export class Queries {
  constructor(
    private readonly database: Database,
    private readonly holders: Holders,
    /** The time that judges leases instead of the server's clock. */
    private readonly now: (() => number) | undefined,
  ) {}

  async batches(): Promise<BatchRecord[]> {
    return (await this.rows<BatchRow>(ALL_BATCHES)).map((row) => this.recordOf(row));
  }

  async batchPage(beforeNumber = Number.MAX_SAFE_INTEGER, limit: number): Promise<BatchRecord[]> {
    return (await this.rows<BatchRow>(PAGE_OF_BATCHES, beforeNumber, limit)).map((row) => this.recordOf(row));
  }

  async batch(name: string): Promise<BatchRecord | undefined> {
    const [row] = await this.rows<BatchRow>(ONE_BATCH, toText(name));
    return row && this.recordOf(row);
  }

  async batchWithTasks(name: string, queries: readonly TaskQuery[]): Promise<BatchWithTasks | undefined> {
    for (const query of queries) checkQuery(query);
    return this.database.snapshot(async (statements) => {
      const [[row], ...tasks] = await Promise.all([
        statements.rows<BatchRow>(ONE_BATCH, toText(name)),
        ...queries.map((query) => tasksOf(statements, name, query)),
      ]);
      return row && { batch: this.recordOf(row), tasks };
    });
  }

  async task(batch: string, id: string): Promise<TaskRecord | undefined> {
    const [row] = await this.rows<TaskData>(ONE_TASK, toText(batch), toText(id));
    return row && taskRecord(row, batch);
  }

  async tasksById(batch: string, ids: Iterable<string>): Promise<Map<string, TaskSummary>> {
    const rows = await this.rows<SummaryData & { readonly id: StoredText }>(
      SUMMARIES,
      toText(batch),
      texts(ids),
    );
    return new Map(rows.map((row) => [fromStored(row.id), taskSummary(fromStored(row.id), row)]));
  }

  async usages(functions: ReadonlySet<string>): Promise<Map<string, StoredUsage[]>> {
    const found = new Map<string, StoredUsage[]>();
    for (const row of await this.rows<UsageData & { readonly function: StoredText }>(USAGES)) {
      const name = fromStored(row.function);
      const usage = functions.has(name) ? usageOf(row) : undefined;
      if (usage !== undefined) found.set(name, [...(found.get(name) ?? []), usage]);
    }
    return found;
  }

  async lastIds(batch: string, limit: number): Promise<string[]> {
    checkNumber('limit', limit, { min: 0, integer: true });
    const rows = await this.rows<{ id: StoredText }>(LAST_IDS, toText(batch), limit);
    return rows.map(({ id }) => fromStored(id));
  }

  async tasks(batch: string, query: TaskQuery): Promise<TaskRecord[]> {
    checkQuery(query);
    return this.database.once((statements) => tasksOf(statements, batch, query));
  }

  async outlines(batch: string, query: Pick<TaskQuery, 'afterSeq' | 'limit'>): Promise<TaskOutline[]> {
    checkQuery(query);
    const { afterSeq = 0, limit } = query;
    return (await this.arrays<OutlineRow>(OUTLINES, toText(batch), afterSeq, limit)).map(outline);
  }

  async openTasks(batch: string, seqs: readonly number[]): Promise<TaskRecord[]> {
    const rows = await this.arrays<OpenTaskRow>(OPEN_BY_SEQ, toText(batch), [...seqs]);
    return rows.map((row) => openTaskRecord(batch, row));
  }

  async items(batch: string, groupSeq: number, query: ItemQuery): Promise<TaskRecord[]> {
    checkQuery(query);
    const { status = STATUSES, afterSeq = 0, limit } = query;
    const page = [toText(batch), groupSeq, afterSeq, limit] as const;
    // All open items of a group are read when it runs.
    if (status.length === 1 && status[0] === 'open')
      return (await this.arrays<OpenTaskRow>(OPEN_ITEMS, ...page)).map((row) => openTaskRecord(batch, row));
    const rows = await this.rows<TaskData>(SOME_ITEMS, ...page, status.map(statusNumber));
    return rows.map((row) => taskRecord(row, batch));
  }

  async itemCounts(batch: string, groupSeq: number): Promise<Record<TaskStatus, number>> {
    const counts = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
    const rows = await this.rows<{ status: number; count: number }>(ITEM_COUNTS, toText(batch), groupSeq);
    for (const { status, count } of rows) counts[STATUSES[status]!] = count;
    return counts;
  }

  async itemResults(
    batch: string,
    groupSeq: number,
    { afterSeq, limit, maxBytes }: { afterSeq: number; limit: number; maxBytes: number },
  ): Promise<ItemResult[]> {
    checkQuery({ afterSeq, limit });
    const page = [toText(batch), groupSeq, afterSeq, limit, maxBytes] as const;
    const rows = await this.rows<ItemRow>(ITEM_RESULTS, ...page);
    return rows.map((row) => ({
      seq: seqInKey(row.key),
      status: STATUSES[row.status]!,
      result: row.is_read ? charactersOf(row, 0, row.result_bytes, 0) : undefined,
    }));
  }

  deliveries(batch: string, groupSeq: number, from: number, limit: number): Promise<Delivery[]> {
    return this.rows<Delivery>(DELIVERIES, toText(batch), groupSeq, from, limit);
  }

  async log(batch: string, id: string): Promise<string | undefined> {
    const [row] = await this.rows<{ body: StoredText }>(LOG, toText(batch), toText(id));
    return row && fromStored(row.body);
  }

  async slowest(
    batch: string,
    status: readonly TaskStatus[],
    afterSeq: number,
    limit: number,
  ): Promise<SlowestPage> {
    checkNumber('limit', limit, { min: 0, integer: true });
    checkNumber('afterSeq', afterSeq, { min: 0, max: MAX_SEQ, integer: true });
    return this.database.snapshot(async (statements) => {
      const [row] = await statements.rows<{ last_seq: number }>(LAST_SEQ, toText(batch));
      if (row === undefined) return { tasks: [], nextSeq: undefined };
      const untilSeq = Math.min(row.last_seq, afterSeq + TASKS_PER_SCAN);
      const range = [toText(batch), afterSeq, untilSeq] as const;
      const found = await statements.rows<{ key: number }>(SLOWEST, ...range, bitsOf(status), limit);
      const keys = found.map(({ key }) => key);
      const rows = await statements.rows<TaskData>(TASKS_BY_KEY, keys);
      const byKey = new Map(rows.map((task) => [task.key, taskRecord(task, batch)]));
      return {
        tasks: keys.map((key) => byKey.get(key)!),
        nextSeq: untilSeq < row.last_seq ? untilSeq : undefined,
      };
    });
  }

  async result(batch: string, id: string, range: ResultRange | undefined): Promise<string | undefined> {
    const { offset = 0, length = Number.MAX_SAFE_INTEGER } = range ?? {};
    checkRange(offset, length);
    const { first, last } = partsOf(offset, offset + length);
    const row = await this.resultRow(batch, id, first, last);
    if (row === undefined) return undefined;
    const end = Math.min(row.result_bytes, offset + length);
    return offset >= end ? '' : charactersOf(row, offset, end, first);
  }

  async results(batch: string, ids: Iterable<string>): Promise<Map<string, string>> {
    const rows = await this.rows<ResultRow>(RESULTS, toText(batch), texts(ids), 0, MAX_PART);
    return new Map(rows.map((row) => [fromStored(row.id), charactersOf(row, 0, row.result_bytes, 0)]));
  }

  async resultBytes(batch: string, id: string, { offset, length }: ResultRange): Promise<Buffer | undefined> {
    checkRange(offset, length);
    const { first, last } = partsOf(offset, offset + length);
    const row = await this.resultRow(batch, id, first, last);
    if (row === undefined) return undefined;
    const end = Math.min(row.result_bytes, offset + length);
    if (offset >= end) return Buffer.alloc(0);
    const short = shortResult(row);
    if (short !== undefined) return Buffer.from(short).subarray(offset, end);
    return row.body!.subarray(offset - first * PART_BYTES, end - first * PART_BYTES);
  }

  async blob(batch: string, id: string): Promise<StoredBlob | undefined> {
    const [row] = await this.rows<{ mime_type: string; body: Uint8Array }>(BLOB, toText(batch), id);
    return row && { id, mimeType: row.mime_type, bytes: row.body };
  }

  async attempts(
    batch: string,
    { afterSeq = 0, limit }: Pick<TaskQuery, 'afterSeq' | 'limit'>,
  ): Promise<AttemptPage> {
    checkNumber('limit', limit, { min: 1, integer: true });
    checkNumber('afterSeq', afterSeq, { min: 0, max: MAX_SEQ, integer: true });
    return this.database.snapshot(async (statements) => {
      const tasks = await statements.rows<AttemptData>(ATTEMPTS_PAGE, toText(batch), afterSeq, limit);
      const last = tasks.at(-1);
      return { attempts: await withEarlier(statements, tasks), lastSeq: last && seqInKey(last.key) };
    });
  }

  attemptsOf(batch: string, id: string): Promise<AttemptRecord[]> {
    return this.database.snapshot(async (statements) =>
      withEarlier(statements, await statements.rows<AttemptData>(ATTEMPTS_OF_ONE, toText(batch), toText(id))),
    );
  }

  outputOf(batch: string, id: string): Promise<KeptOutput[]> {
    return this.rows<KeptOutput>(KEPT_OUTPUT, toText(batch), toText(id));
  }

  async output(
    batch: string,
    id: string,
    attempt: number,
    fromLine: number,
  ): Promise<OutputPage | undefined> {
    const values = [toText(batch), toText(id), attempt, fromLine] as const;
    const [row] = await this.rows<{ first: number; body: string }>(OUTPUT, ...values);
    return row && linesFrom(row, fromLine);
  }

  async version(): Promise<number> {
    return (await this.rows<{ version: number }>(VERSION))[0]!.version;
  }

  async cachedResult(key: Uint8Array, maxBytes: number): Promise<StoredCachedEntry | undefined> {
    const [row] = await this.rows<{
      function: StoredText;
      created_at: number;
      used_at: number;
      signature: Uint8Array;
      body: Uint8Array;
    }>(CACHED, key, maxBytes);
    if (row === undefined) return undefined;
    const { created_at: createdAt, used_at: usedAt, signature, body } = row;
    return { key, function: fromStored(row.function), createdAt, usedAt, signature, body };
  }

  async cacheUse(): Promise<CacheUse[]> {
    const rows = await this.rows<{ function: StoredText; results: number; bytes: number; used_at: number }>(
      CACHE_USE,
    );
    return rows.map(({ function: tool, results, bytes, used_at: lastUsedAt }) => ({
      function: fromStored(tool),
      results,
      bytes,
      lastUsedAt,
    }));
  }

  async asked(batch: string): Promise<HolderRequest[]> {
    const rows = await this.rows<{ id: number; body: StoredText }>(ASKED, toText(batch));
    return rows.map(({ id, body }) => ({ id, body: fromStored(body) }));
  }

  async answerTo(request: number): Promise<string | undefined> {
    const [row] = await this.rows<{ answer: StoredText | null }>(ANSWER, request);
    return row && fromStoredOrNull(row.answer);
  }

  private async resultRow(
    batch: string,
    id: string,
    firstPart: number,
    lastPart: number,
  ): Promise<ResultRow | undefined> {
    const parts = [Math.min(firstPart, MAX_PART), Math.min(lastPart, MAX_PART)] as const;
    return (await this.rows<ResultRow>(RESULTS, toText(batch), [toText(id)], ...parts))[0];
  }

  private rows<T>(...statement: Parameters<Statements['rows']>): Promise<T[]> {
    return this.database.once((statements) => statements.rows<T>(...statement));
  }

  private arrays<T>(...statement: Parameters<Statements['arrays']>): Promise<T[]> {
    return this.database.once((statements) => statements.arrays<T>(...statement));
  }

  private recordOf(row: BatchRow): BatchRecord {
    const { lease_batch: batch, lease_epoch: epoch } = row;
    const lease = batch === null ? undefined : { ...row, batch, epoch };
    return batchRecord(row, this.holders.holderOf(lease, this.now?.() ?? row.now), row.has_failures);
  }
}

async function tasksOf(
  statements: Statements,
  batch: string,
  { status, afterSeq = 0, beforeSeq, limit, withoutItems = false }: TaskQuery,
): Promise<TaskRecord[]> {
  const last = beforeSeq === undefined ? MAX_SEQ : beforeSeq - 1;
  const page = [toText(batch), afterSeq, last, !withoutItems, limit] as const;
  const isBackwards = beforeSeq !== undefined;
  // All open tasks of a batch are read when it starts.
  if (status?.length === 1 && status[0] === 'open' && !isBackwards) {
    const rows = await statements.arrays<OpenTaskRow>(PAGES.open, ...page);
    return rows.map((row) => openTaskRecord(batch, row));
  }
  const rows =
    status === undefined
      ? await statements.rows<TaskData>(isBackwards ? PAGES.anyBackwards : PAGES.any, ...page)
      : await statements.rows<TaskData>(
          isBackwards ? PAGES.someBackwards : PAGES.some,
          ...page,
          [...new Set(status)].map(statusNumber),
        );
  return rows.map((row) => taskRecord(row, batch));
}

async function withEarlier(statements: Statements, tasks: readonly AttemptData[]): Promise<AttemptRecord[]> {
  const [first, last] = [tasks.at(0), tasks.at(-1)];
  if (first === undefined) return [];
  return attemptRecords(tasks, await statements.rows<AttemptData>(EARLIER_ATTEMPTS, first.key, last!.key));
}

/** A part of a result, of which the parts from `firstPart` on were read. */
function charactersOf(row: ResultRow, offset: number, end: number, firstPart: number): string {
  const short = shortResult(row);
  if (short !== undefined)
    return end - offset === row.result_bytes ? short : charactersIn(Buffer.from(short), offset, end);
  const before = firstPart * PART_BYTES;
  return charactersIn(row.body!, offset - before, end - before);
}

function checkRange(offset: number, length: number): void {
  checkNumber('offset', offset, { min: 0, integer: true });
  checkNumber('length', length, { min: 0, integer: true });
}

function texts(ids: Iterable<string>): string[] {
  return [...new Set(ids)].map(toText);
}
