import type { Spending } from '../../runners/runner.ts';
import type { Completion, FailedAttempt, StoredBlob, StoredUsage, TaskEnd } from '../records.ts';
import { settled, unknownNumber } from '../refusals.ts';
import {
  beginningOf,
  CANCELLED,
  COMPLETED,
  FAILED,
  keyOf,
  OPEN,
  PART_BYTES,
  PREVIEW_LENGTH,
  RUNNING,
  seqInKey,
  statusNumber,
} from '../rows.ts';
import type { Statements, Value } from './connection.ts';
import { toText, toTextOrNull } from './text.ts';
import type { LockedBatch, Transaction } from './transaction.ts';

/** Bytes of results per statement: they are sent as hex digits. */
const RESULT_BYTES = 4 * 2 ** 20;

interface TaskState {
  readonly key: number;
  readonly parent: number | null;
  status: number;
  attempts: number;
  failures: number;
  startedAt: number | null;
  attemptAt: number | null;
  worker: string | null;
  /** Whether its current attempt has a row of its own: it failed, and the next one has not begun. */
  hasAttempt: boolean;
}

interface StateRow {
  readonly key: number;
  readonly parent: number | null;
  readonly status: number;
  readonly attempts: number;
  readonly failures: number;
  readonly started_at: number | null;
  readonly attempt_at: number | null;
  readonly worker: string | null;
  readonly has_attempt: boolean;
}

const LOAD = `
  SELECT s.key, s.parent, s.status, s.attempts, s.failures, s.started_at, s.attempt_at, s.worker,
    CASE WHEN s.attempts > 0 THEN EXISTS (SELECT 1 FROM attempts a WHERE a.key = s.key AND a.attempt = s.attempts)
      ELSE false END AS has_attempt
  FROM unnest($2::bigint[]) w (seq)
  JOIN states s ON s.key = (SELECT id FROM batches WHERE name = $1) * ${keyOf(1, 0)} + w.seq`;
const WRITE_STATES = `
  UPDATE states s SET status = u.status, attempts = u.attempts, failures = u.failures, started_at = u.started_at,
    attempt_at = u.attempt_at, worker = u.worker
  FROM unnest($1::bigint[], $2::smallint[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[], $7::text[])
    u (key, status, attempts, failures, started_at, attempt_at, worker) WHERE s.key = u.key`;
export const WRITE_ENDS = `
  INSERT INTO ends (key, ended_at, duration_ms, result_bytes, cached, reason, code, cause, preview, message)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::text[])`;
const WRITE_ATTEMPTS = `
  INSERT INTO attempts (key, attempt, started_at, ended_at, retry_at, duration_ms, status, reason, message, worker)
  SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::smallint[],
    $8::text[], $9::text[], $10::text[]) ON CONFLICT DO NOTHING`;
const WRITE_RESULTS = `
  INSERT INTO results (key, part, body) SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bytea[])`;
const WRITE_BLOBS = `
  INSERT INTO blobs (batch, id, mime_type, body)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[]) ON CONFLICT DO NOTHING`;
const WRITE_USAGE = `
  INSERT INTO usage (key, memory_mb, cpu_ms, duration_ms)
  SELECT * FROM unnest($1::bigint[], $2::float8[], $3::float8[], $4::float8[])
  ON CONFLICT (key) DO UPDATE SET memory_mb = excluded.memory_mb, cpu_ms = excluded.cpu_ms,
    duration_ms = excluded.duration_ms`;
const SUMS = ['calls', 'input_tokens', 'output_tokens', 'cost_usd', 'unpriced'] as const;
const SUM_COLUMNS = '$2::bigint[], $3::bigint[], $4::bigint[], $5::float8[], $6::bigint[]';
const WRITE_SPENDING = `
  INSERT INTO spending AS p (key, ${SUMS.join(', ')}) SELECT * FROM unnest($1::bigint[], ${SUM_COLUMNS})
  ON CONFLICT (key) DO UPDATE SET ${SUMS.map((sum) => `${sum} = p.${sum} + excluded.${sum}`).join(', ')}`;
const WRITE_BATCH_SPENDING = `
  UPDATE batches b SET ${SUMS.map((sum) => `${sum} = b.${sum} + u.${sum}`).join(', ')}
  FROM unnest($1::bigint[], ${SUM_COLUMNS}) u (id, ${SUMS.join(', ')}) WHERE b.id = u.id`;

type EndRow = readonly [
  key: number,
  endedAt: number,
  durationMs: number | null,
  resultBytes: number | null,
  cached: 1 | null,
  reason: string | null,
  code: string | null,
  cause: string | null,
  preview: string | null,
  message: string | null,
];
type AttemptRow = readonly [
  key: number,
  attempt: number,
  startedAt: number | null,
  endedAt: number,
  retryAt: number | null,
  durationMs: number | null,
  status: number,
  reason: string | null,
  message: string,
  worker: string | null,
];
type SpendingRow = [
  calls: number,
  inputTokens: number,
  outputTokens: number,
  costUsd: number,
  unpriced: number,
];

/** What was decided, and has to be written. */
export class ChangedTasks {
  readonly states = new Set<TaskState>();
  readonly ends: EndRow[] = [];
  readonly attempts: AttemptRow[] = [];
  readonly results: [key: number, part: number, body: Uint8Array][] = [];
  /** By batch and id. */
  readonly blobs = new Map<
    string,
    readonly [batch: number, id: string, mimeType: string, body: Uint8Array]
  >();
  readonly usages = new Map<number, StoredUsage>();
  readonly spending = new Map<number, SpendingRow>();
  readonly batchSpending = new Map<number, SpendingRow>();

  write(statements: Statements): Promise<unknown>[] {
    const states = [...this.states].map(
      ({ key, status, attempts, failures, startedAt, attemptAt, worker }) =>
        [key, status, attempts, failures, startedAt, attemptAt, worker] as const,
    );
    const usages = [...this.usages].map(
      ([key, { memoryMb, cpuMs, durationMs }]) => [key, memoryMb ?? null, cpuMs ?? null, durationMs] as const,
    );
    const withKey = ([key, sums]: [number, SpendingRow]) => [key, ...sums];
    const writes: Promise<unknown>[] = [];
    const write = (sql: string, rows: readonly (readonly Value[])[]) => {
      if (rows.length > 0) writes.push(statements.run(sql, ...columnsOf(rows)));
    };
    write(WRITE_STATES, states);
    write(WRITE_ENDS, this.ends);
    write(WRITE_ATTEMPTS, this.attempts);
    for (const some of inChunks(this.results)) write(WRITE_RESULTS, some);
    for (const blob of this.blobs.values()) write(WRITE_BLOBS, [blob]);
    write(WRITE_USAGE, usages);
    write(WRITE_SPENDING, [...this.spending].map(withKey));
    write(WRITE_BATCH_SPENDING, [...this.batchSpending].map(withKey));
    return writes;
  }
}

/** One array for each column: a statement takes any number of rows. */
export function columnsOf(rows: readonly (readonly Value[])[]): Value[] {
  return rows[0]!.map((_, column) => rows.map((row) => row[column]!));
}

function* inChunks(results: ChangedTasks['results']): Generator<ChangedTasks['results']> {
  let [first, bytes] = [0, 0];
  for (const [index, [, , body]] of results.entries()) {
    if (bytes > 0 && bytes + body.length > RESULT_BYTES) {
      yield results.slice(first, index);
      [first, bytes] = [index, 0];
    }
    bytes += body.length;
  }
  if (first < results.length) yield results.slice(first);
}

/**
 * The states of the tasks that a transaction is about, read after their batches were locked. Writes are decided here,
 * one after the other, and written together: a group of them takes a few statements, whatever their number.
 */
export class TaskStates {
  private readonly loaded = new Map<number, TaskState>();
  private changed = new ChangedTasks();
  private isChanged = false;

  async load(statements: Statements, batch: string, seqs: readonly number[]): Promise<void> {
    const rows = await statements.rows<StateRow>(LOAD, toText(batch), [...new Set(seqs)]);
    for (const row of rows)
      this.loaded.set(row.key, {
        key: row.key,
        parent: row.parent,
        status: row.status,
        attempts: row.attempts,
        failures: row.failures,
        startedAt: row.started_at,
        attemptAt: row.attempt_at,
        worker: row.worker,
        hasAttempt: row.has_attempt,
      });
  }

  /** What was loaded may be outdated: something else was written. */
  forget(): void {
    this.loaded.clear();
  }

  /** What there is to write, once. */
  take(): ChangedTasks | undefined {
    if (!this.isChanged) return undefined;
    const { changed } = this;
    this.changed = new ChangedTasks();
    this.isChanged = false;
    return changed;
  }

  started(tx: Transaction, batch: string, seq: number, at: number): void {
    const { batch: locked, state } = this.unsettled(tx, batch, seq);
    this.start(tx, locked.id, batch, state, Math.trunc(at));
  }

  placed(tx: Transaction, batch: string, seq: number, worker: string): void {
    const state = this.find(tx, batch, seq);
    if (state?.status !== RUNNING) return;
    state.worker = toText(worker);
    this.change(state);
    this.note(tx, batch, state, 'placed', Date.now(), { worker });
  }

  ended(
    tx: Transaction,
    batch: string,
    seq: number,
    end: TaskEnd,
    at: number,
    startedAt: number | undefined,
    durationMs: number | undefined,
  ): void {
    if (end.status === 'completed') {
      this.completed(tx, batch, [{ seq, result: end.result, endedAt: at, startedAt, durationMs }]);
      return;
    }
    const { batch: locked, state } = this.unsettled(tx, batch, seq);
    if (startedAt !== undefined) this.start(tx, locked.id, batch, state, Math.trunc(startedAt));
    this.move(tx, locked.id, state, statusNumber(end.status));
    this.changed.ends.push(unsuccessfulEnd(state.key, end, at, durationMs));
    this.note(tx, batch, state, end.status, at, endFields(end));
  }

  completed(tx: Transaction, batch: string, tasks: readonly Completion[]): void {
    const seen = new Set<number>();
    for (const { seq } of tasks) {
      this.unsettled(tx, batch, seq);
      if (seen.has(seq)) throw settled(batch, seq);
      seen.add(seq);
    }
    for (const task of tasks) this.complete(tx, tx.find(batch)!.id, batch, task);
  }

  /** Reopens a task whose attempt was cut short. */
  putBack(
    tx: Transaction,
    batch: string,
    seq: number,
    message: string,
    at: number,
    startedAt: number | undefined,
    durationMs: number | undefined,
  ): void {
    const { batch: locked, state } = this.unsettled(tx, batch, seq);
    if (startedAt !== undefined) this.start(tx, locked.id, batch, state, Math.trunc(startedAt));
    if (state.attempts > 0 && !state.hasAttempt)
      this.changed.attempts.push([
        state.key,
        state.attempts,
        state.attemptAt,
        Math.trunc(at),
        null,
        truncated(durationMs),
        CANCELLED,
        null,
        toText(message),
        state.worker,
      ]);
    state.startedAt = null;
    state.attemptAt = null;
    state.worker = null;
    state.hasAttempt = state.attempts > 0;
    this.move(tx, locked.id, state, OPEN);
    this.note(tx, batch, state, 'opened', at);
  }

  attemptFailed(tx: Transaction, batch: string, seq: number, attempt: FailedAttempt): void {
    const state = this.find(tx, batch, seq);
    // An existing row means that the task ended during the pause after that attempt.
    if (state === undefined || state.status !== RUNNING || state.hasAttempt) return;
    const { startedAt, endedAt, durationMs, reason, message, retryAt } = attempt;
    this.changed.attempts.push([
      state.key,
      state.attempts,
      Math.trunc(startedAt),
      Math.trunc(endedAt),
      truncated(retryAt),
      truncated(durationMs),
      FAILED,
      reason,
      toText(message),
      state.worker,
    ]);
    state.failures++;
    state.hasAttempt = true;
    this.change(state);
    const retry = { reason, ...(retryAt !== undefined && { retry_in_ms: Math.max(0, retryAt - endedAt) }) };
    this.note(tx, batch, state, 'retrying', endedAt, retry);
  }

  spent(tx: Transaction, batch: string, seq: number, { inputTokens, outputTokens, costUsd }: Spending): void {
    const state = this.find(tx, batch, seq);
    if (state === undefined) return;
    const sums: SpendingRow = [1, inputTokens, outputTokens, costUsd ?? 0, costUsd === undefined ? 1 : 0];
    add(this.changed.spending, state.key, sums);
    add(this.changed.batchSpending, tx.find(batch)!.id, sums);
    this.isChanged = true;
    tx.note(batch, { event: 'changed' });
  }

  private complete(
    tx: Transaction,
    batchId: number,
    batch: string,
    { seq, result, startedAt, endedAt, durationMs, blobs, isCached = false, usage }: Completion,
  ): void {
    const state = this.loaded.get(keyOf(batchId, seq))!;
    const { key } = state;
    if (startedAt !== undefined) this.start(tx, batchId, batch, state, Math.trunc(startedAt));
    this.move(tx, batchId, state, COMPLETED);
    this.note(tx, batch, state, 'completed', endedAt, isCached ? { cached: true } : undefined);
    const preview = result === undefined ? undefined : beginningOf(result, PREVIEW_LENGTH);
    const bytes = result === undefined || preview!.length === result.length ? undefined : Buffer.from(result);
    const size = bytes?.length ?? (result === undefined ? null : Buffer.byteLength(result));
    this.changed.ends.push([
      key,
      Math.trunc(endedAt),
      truncated(durationMs),
      size,
      isCached ? 1 : null,
      null,
      null,
      null,
      toTextOrNull(preview),
      null,
    ]);
    if (bytes !== undefined)
      for (let offset = 0; offset < bytes.length; offset += PART_BYTES)
        this.changed.results.push([key, offset / PART_BYTES, bytes.subarray(offset, offset + PART_BYTES)]);
    for (const blob of blobs ?? []) this.addBlob(batchId, blob);
    if (usage !== undefined) this.changed.usages.set(key, usage);
    if (isCached) tx.addCached(batchId);
  }

  private addBlob(batchId: number, { id, mimeType, bytes }: StoredBlob): void {
    this.changed.blobs.set(`${batchId} ${id}`, [batchId, id, mimeType, bytes]);
  }

  /** A task that has not ended. */
  private unsettled(tx: Transaction, batch: string, seq: number): { batch: LockedBatch; state: TaskState } {
    const state = this.find(tx, batch, seq);
    if (state === undefined) throw unknownNumber(batch, seq);
    if (state.status !== OPEN && state.status !== RUNNING) throw settled(batch, seq);
    return { batch: tx.find(batch)!, state };
  }

  private find(tx: Transaction, batch: string, seq: number): TaskState | undefined {
    const locked = tx.find(batch);
    return locked && this.loaded.get(keyOf(locked.id, seq));
  }

  private start(tx: Transaction, batchId: number, batch: string, state: TaskState, at: number): void {
    state.attempts++;
    state.startedAt ??= at;
    state.attemptAt = at;
    state.worker = null;
    state.hasAttempt = false;
    this.move(tx, batchId, state, RUNNING);
    this.note(tx, batch, state, 'started', at);
  }

  private note(
    tx: Transaction,
    batch: string,
    { key, parent, attempts: attempt }: TaskState,
    type: string,
    at: number,
    more?: object,
  ): void {
    if (!tx.isFollowed) return;
    tx.note(batch, { seq: seqInKey(key), type, attempt, at: Math.trunc(at), ...more }, key, parent);
  }

  private move(tx: Transaction, batchId: number, state: TaskState, status: number): void {
    tx.changeCount(batchId, state.status, -1);
    tx.changeCount(batchId, status, 1);
    state.status = status;
    this.change(state);
  }

  private change(state: TaskState): void {
    this.changed.states.add(state);
    this.isChanged = true;
  }
}

function endFields(end: Exclude<TaskEnd, { status: 'completed' }>): object | undefined {
  if (end.status === 'cancelled') return undefined;
  if (end.status === 'failed') return { reason: end.reason };
  // Undefined fields are left out of JSON.
  return { cause: end.cause, code: end.code };
}

/** The row of an end. */
export function unsuccessfulEnd(
  key: number,
  end: Exclude<TaskEnd, { status: 'completed' }>,
  at: number,
  durationMs: number | undefined,
): EndRow {
  const reason = end.status === 'failed' ? end.reason : null;
  const code = end.status === 'cancelled' ? null : toTextOrNull(end.code);
  const cause = end.status === 'skipped' ? toTextOrNull(end.cause) : null;
  return [
    key,
    Math.trunc(at),
    truncated(durationMs),
    null,
    null,
    reason,
    code,
    cause,
    null,
    toTextOrNull(end.message),
  ];
}

function truncated(value: number | undefined): number | null {
  return value === undefined ? null : Math.trunc(value);
}

function add(sums: Map<number, SpendingRow>, key: number, by: SpendingRow): void {
  const before = sums.get(key);
  sums.set(key, before === undefined ? by : (before.map((sum, index) => sum + by[index]!) as SpendingRow));
}
