import { type AddedTasks, isGroup, type NewTask, NO_OPTIONS, type TaskStatus } from '../records.ts';
import { crashedAt, crashedEnd, duplicateId, notReopened, unknownNumber } from '../refusals.ts';
import {
  CANCELLED,
  COMPLETED,
  checkRoomFor,
  FAILED,
  fromStored,
  keyOf,
  lastKeyOf,
  OPEN,
  parsedOptions,
  RUNNING,
  SKIPPED,
  type StoredText,
  seqInKey,
  statusNumber,
} from '../rows.ts';
import type { Recovery, Unsuccessful } from '../store.ts';
import type { Statements, Value } from './connection.ts';
import { existing, type Holders, type LeaseRow } from './holders.ts';
import { columnsOf, unsuccessfulEnd, WRITE_ENDS } from './task-states.ts';
import { toText } from './text.ts';
import type { LockedBatch, Transaction } from './transaction.ts';

/** Tasks per statement. In between, other things get their turn. */
const TASKS_PER_STATEMENT = 2000;
const REOPENED: readonly number[] = [FAILED, CANCELLED, SKIPPED];
const TO_REOPEN = `s.status IN (${REOPENED.join(', ')})`;
/** Tasks of a batch that one statement goes through, so that none takes too long. */
const TASKS_PER_RANGE = 50_000;

/** The tables with rows of tasks, besides `states`. */
const OF_TASKS = [
  'tasks',
  'ends',
  'results',
  'attempts',
  'deliveries',
  'logs',
  'usage',
  'spending',
  'output',
] as const;

const KNOWN_IDS = 'SELECT id FROM tasks WHERE batch = $1 AND id = ANY($2::text[]) LIMIT 1';
const ADD_TASKS = `
  INSERT INTO tasks (key, batch, id, name, function, added_at, options, params)
  SELECT $1::bigint + u.n, $2, u.id, u.name, u.function, $3, u.options, u.params
  FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) WITH ORDINALITY
    u (id, name, function, options, params, n)`;
const ADD_STATES = `
  INSERT INTO states (key, parent, status, attempts)
  SELECT $1::bigint + n, $2, ${OPEN}, 0 FROM generate_series(1, $3::integer) n`;
const IS_TASK = 'SELECT 1 FROM states WHERE key = $1';
const FIND = `
  SELECT s.key, t.id, s.status, s.parent, t.options FROM tasks t JOIN states s ON s.key = t.key
  WHERE t.batch = $1 AND t.id = ANY($2::text[])`;
const FIND_GROUPS = `
  SELECT s.key, s.status, t.options FROM states s JOIN tasks t ON t.key = s.key WHERE s.key = ANY($1::bigint[])`;
/** Ends open tasks: each takes the row of an end. */
const END_OPEN = (which: string) => `
  WITH ended AS (UPDATE states s SET status = $1 WHERE s.status = ${OPEN} AND ${which} RETURNING s.key)
  INSERT INTO ends (key, ended_at, reason, code, cause, message)
  SELECT key, $2::bigint, $3::text, $4::text, $5::text, $6::text FROM ended`;
const END_OF_BATCH = END_OPEN('s.key BETWEEN $7 AND $8');
const END_OF_GROUP = END_OPEN('s.parent = $7');
const END_THESE = END_OPEN('(s.key = ANY($7::bigint[]) OR s.parent = ANY($7::bigint[]))');

/** Reopens tasks, which then have no failed attempts that count. Their ends become attempts. */
const REOPEN = (which: string) => `
  WITH chosen AS MATERIALIZED (SELECT s.key, s.status, s.attempts, s.attempt_at, s.worker FROM states s WHERE ${which}),
  kept AS (
    INSERT INTO attempts (key, attempt, started_at, ended_at, status, reason, message, duration_ms, worker)
    SELECT c.key, c.attempts, c.attempt_at, e.ended_at, c.status, e.reason, e.message, e.duration_ms, c.worker
    FROM chosen c JOIN ends e ON e.key = c.key WHERE c.attempts > 0 AND c.status IN (${FAILED}, ${CANCELLED})
    ON CONFLICT DO NOTHING),
  ends_gone AS (DELETE FROM ends e USING chosen c WHERE e.key = c.key),
  results_gone AS (DELETE FROM results r USING chosen c WHERE r.key = c.key),
  opened AS (
    UPDATE states s SET status = ${OPEN}, started_at = NULL, attempt_at = NULL, worker = NULL, failures = 0
    FROM chosen c WHERE s.key = c.key RETURNING c.status)
  SELECT status, count(*) AS count FROM opened GROUP BY status`;
/** Which tasks begin anew: groups whose options say so are looked at one by one. */
const MAYBE_ANEW = (which: string) => `
  SELECT s.key, s.status, t.options FROM states s JOIN tasks t ON t.key = s.key
  WHERE ${which} AND (t.options LIKE '%"program":%' OR t.options LIKE '%"repeat":%')`;
const TOP_TASKS = `s.key BETWEEN $1 AND $2 AND s.parent IS NULL AND ${TO_REOPEN}`;
const ITEMS_OF_OPEN = `
  s.key BETWEEN $1 AND $2 AND ${TO_REOPEN}
  AND EXISTS (SELECT 1 FROM states g WHERE g.key = s.parent AND g.status = ${OPEN})`;
const THESE = 's.key = ANY($1::bigint[])';
const ITEMS_OF_THESE = `s.parent = ANY($1::bigint[]) AND ${TO_REOPEN}`;
const NOTED = 'SELECT key, parent, attempts FROM states WHERE key = ANY($1::bigint[]) ORDER BY key';
const GROUPS_WITH_ITEMS = `SELECT DISTINCT s.parent AS key FROM states s WHERE ${ITEMS_OF_THESE}`;

/** Deletes states and counts them by status. */
const DELETE_STATES = (which: string) => `
  WITH gone AS (DELETE FROM states s WHERE ${which} RETURNING s.status)
  SELECT status, count(*) AS count FROM gone GROUP BY status`;
const DELETE_ALL = DELETE_STATES('s.key BETWEEN $1 AND $2');
/** Items go with their group, and only then. */
const DELETE_SOME = DELETE_STATES(`
  s.key BETWEEN $1 AND $2 AND CASE WHEN s.parent IS NULL THEN s.status = ANY($3::smallint[])
    ELSE EXISTS (SELECT 1 FROM states g WHERE g.key = s.parent AND g.status = ANY($3::smallint[])) END`);
const DELETE_ITEMS = `
  DELETE FROM states s WHERE s.parent = ANY($1::bigint[]) RETURNING s.key, s.status`;
const RECOUNT_CACHED = `
  UPDATE batches SET cached = (SELECT count(*) FROM ends WHERE cached = 1 AND key BETWEEN $2 AND $3) WHERE id = $1`;
const DELETE_BLOBS = `
  DELETE FROM blobs WHERE batch = $1
  AND NOT EXISTS (SELECT 1 FROM states WHERE status = ${COMPLETED} AND key BETWEEN $2 AND $3)`;

const SUSPECTS = `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, b.name, l.* FROM batches b LEFT JOIN leases l ON l.batch = b.id
  WHERE b.running > 0 ORDER BY b.id`;
const RUNNING_TASKS = `
  SELECT s.key, t.id, t.function, t.options, s.attempt_at,
    EXISTS (SELECT 1 FROM attempts a WHERE a.key = s.key AND a.attempt = s.attempts) AS waits
  FROM states s JOIN tasks t ON t.key = s.key WHERE s.status = ${RUNNING} AND s.key BETWEEN $1 AND $2 ORDER BY s.key`;
const OPEN_CRASHED = `
  WITH kept AS (
    INSERT INTO attempts (key, attempt, started_at, status, reason, worker)
    SELECT key, attempts, attempt_at, ${FAILED}, 'crashed', worker FROM states WHERE key = ANY($1::bigint[]) AND attempts > 0
    ON CONFLICT DO NOTHING)
  UPDATE states SET status = ${OPEN}, started_at = NULL, attempt_at = NULL, worker = NULL WHERE key = ANY($1::bigint[])`;
const FAIL_CRASHED = `UPDATE states SET status = ${FAILED} WHERE key = ANY($1::bigint[])`;

interface FoundRow {
  readonly key: number;
  readonly id: StoredText;
  readonly status: number;
  readonly parent: number | null;
  readonly options: StoredText | null;
}

type GroupRow = Pick<FoundRow, 'key' | 'status' | 'options'>;

interface NotedRow {
  readonly key: number;
  readonly parent: number | null;
  readonly attempts: number;
}

interface CountRow {
  readonly status: number;
  readonly count: number;
}

/** Adds tasks to a batch, or items to a group. */
export async function addTasks(
  tx: Transaction,
  batch: string,
  tasks: readonly NewTask[],
  at: number,
  groupSeq?: number,
): Promise<AddedTasks> {
  const { statements } = tx;
  const before = tx.find(batch);
  checkRoomFor(batch, before?.lastSeq ?? 0, tasks.length);
  const ids = new Set<string>();
  for (const { id } of tasks) {
    if (ids.has(id)) throw duplicateId(batch, id);
    ids.add(id);
  }
  const locked = await tx.findOrCreate(batch, at);
  const parent = groupSeq === undefined ? null : keyOf(locked.id, groupSeq);
  if (parent !== null && (await statements.rows(IS_TASK, parent)).length === 0)
    throw unknownNumber(batch, groupSeq!);
  if (locked.lastSeq > 0) await checkNew(statements, batch, locked.id, [...ids]);
  const firstSeq = locked.lastSeq + 1;
  // The next tasks are sent while the server works on those before.
  let sent: Promise<unknown> = Promise.resolve();
  for (let done = 0; done < tasks.length; done += TASKS_PER_STATEMENT) {
    const some = tasks.slice(done, done + TASKS_PER_STATEMENT);
    const beforeKey = keyOf(locked.id, locked.lastSeq);
    const sending = Promise.all([
      sent,
      statements.run(ADD_TASKS, beforeKey, locked.id, at, ...columnsOf(some.map(definition))),
      statements.run(ADD_STATES, beforeKey, parent, some.length),
    ]);
    locked.lastSeq += some.length;
    tx.changeCount(locked.id, OPEN, some.length);
    // It fails with the one before, which is awaited first.
    sending.catch(() => undefined);
    await sent;
    sent = sending;
  }
  await sent;
  tx.note(batch, { event: 'added', from_seq: firstSeq, to_seq: locked.lastSeq, at });
  return { firstSeq, lastSeq: locked.lastSeq, addedAt: at };
}

async function checkNew(
  statements: Statements,
  batch: string,
  batchId: number,
  ids: readonly string[],
): Promise<void> {
  for (let done = 0; done < ids.length; done += TASKS_PER_STATEMENT) {
    const some = ids.slice(done, done + TASKS_PER_STATEMENT).map(toText);
    const [known] = await statements.rows<{ id: StoredText }>(KNOWN_IDS, batchId, some);
    if (known !== undefined) throw duplicateId(batch, fromStored(known.id));
  }
}

function definition({ id, name, function: tool, options, params }: NewTask): Value[] {
  const text = options === NO_OPTIONS ? '{}' : JSON.stringify(options);
  return [toText(id), toText(name), toText(tool), text === '{}' ? null : toText(text), toText(params)];
}

/** All keys of a batch, in parts. */
function* rangesOf({ id, lastSeq }: LockedBatch): Generator<[first: number, last: number]> {
  for (let seq = 1; seq <= lastSeq; seq += TASKS_PER_RANGE)
    yield [keyOf(id, seq), keyOf(id, seq + TASKS_PER_RANGE - 1)];
}

/** Ends all open tasks of a batch, with their items, and returns their number. */
export async function endOpen(
  tx: Transaction,
  batch: string,
  end: Unsuccessful,
  at: number,
): Promise<number> {
  const locked = existing(tx, batch);
  let total = 0;
  for (const range of rangesOf(locked))
    total += await endWhere(tx, locked.id, END_OF_BATCH, end, at, ...range);
  noteMany(tx, batch, total, at);
  return total;
}

/** Ends the open items of a group. */
export async function endItems(
  tx: Transaction,
  batch: string,
  groupSeq: number,
  end: Unsuccessful,
  at: number,
): Promise<number> {
  const { id } = existing(tx, batch);
  const count = await endWhere(tx, id, END_OF_GROUP, end, at, keyOf(id, groupSeq));
  noteMany(tx, batch, count, at);
  return count;
}

/** Cancels open tasks: all, or those with these ids and the items of those that are groups. */
export async function cancel(
  tx: Transaction,
  batch: string,
  message: string,
  ids: readonly string[] | undefined,
  at: number,
): Promise<number> {
  const end = { status: 'cancelled', message } as const;
  if (ids === undefined) return endOpen(tx, batch, end, at);
  const { id } = existing(tx, batch);
  const found = await findTasks(tx, id, ids);
  const keys = found.flatMap(({ key, status }) => (status === OPEN ? [key] : []));
  const count = await endWhere(tx, id, END_THESE, end, at, keys);
  await noteTasks(tx, batch, keys, count, 'cancelled', at);
  return count;
}

/** More changed tasks than this are one entry of the feed. */
const MAX_NOTED = 1000;

/** Tells readers of the feed to read the batch again. */
function noteMany(tx: Transaction, batch: string, count: number, at: number): void {
  if (count > 0) tx.note(batch, { event: 'cleared', at });
}

/** Tells readers of the feed what was done to these tasks, or to so many that they have to read the batch again. */
async function noteTasks(
  tx: Transaction,
  batch: string,
  keys: readonly number[],
  count: number,
  type: 'cancelled' | 'opened',
  at: number,
): Promise<void> {
  if (tx.isFollowed !== true) return;
  // Items go with their groups.
  if (count !== keys.length || count > MAX_NOTED) return noteMany(tx, batch, count, at);
  for (const { key, parent, attempts: attempt } of await tx.statements.rows<NotedRow>(NOTED, keys))
    tx.note(batch, { seq: seqInKey(key), type, attempt, at }, key, parent);
}

async function endWhere(
  tx: Transaction,
  batchId: number,
  sql: string,
  end: Unsuccessful,
  at: number,
  ...which: Value[]
): Promise<number> {
  const status = statusNumber(end.status);
  const [, endedAt, , , , reason, code, cause, , message] = unsuccessfulEnd(0, end, at, undefined);
  const count = await tx.statements.run(sql, status, endedAt, reason, code, cause, message, ...which);
  tx.changeCount(batchId, OPEN, -count);
  tx.changeCount(batchId, status, count);
  return count;
}

function findTasks(tx: Transaction, batchId: number, ids: readonly string[]): Promise<FoundRow[]> {
  return tx.statements.rows<FoundRow>(FIND, batchId, [...new Set(ids)].map(toText));
}

/** Deletes tasks of some statuses, or all, and then the batch, unless this store runs it. Returns the number of tasks. */
export async function clear(
  tx: Transaction,
  holders: Holders,
  batch: string,
  statuses: readonly TaskStatus[] | undefined,
  at: number,
): Promise<number> {
  const locked = tx.find(batch);
  if (locked === undefined) return 0;
  holders.checkNotHeldByOthers(tx, batch, locked.lease);
  const { statements } = tx;
  let total = 0;
  // The last ones first: items come after their group, which must still be there.
  for (const range of [...rangesOf(locked)].reverse()) {
    const gone =
      statuses === undefined
        ? await statements.rows<CountRow>(DELETE_ALL, ...range)
        : await statements.rows<CountRow>(DELETE_SOME, ...range, statuses.map(statusNumber));
    for (const { status, count } of gone) {
      tx.changeCount(locked.id, status, -count);
      total += count;
    }
    if (gone.length > 0)
      await Promise.all(OF_TASKS.map((table) => statements.run(deleteOrphans(table, statuses), ...range)));
  }
  await statements.run(DELETE_BLOBS, locked.id, keyOf(locked.id, 0), lastKeyOf(locked.id));
  await recountCached(tx, locked.id);
  tx.isDirty = true;
  tx.note(batch, { event: 'cleared', at });
  // The holder continues with an empty batch.
  if (statuses === undefined && !holders.isOwn(batch)) await deleteBatch(tx, batch, locked.id);
  return total;
}

function deleteOrphans(table: string, statuses: readonly TaskStatus[] | undefined): string {
  const range = `DELETE FROM ${table} o WHERE o.key BETWEEN $1 AND $2`;
  return statuses === undefined
    ? range
    : `${range} AND NOT EXISTS (SELECT 1 FROM states s WHERE s.key = o.key)`;
}

async function deleteBatch(tx: Transaction, batch: string, id: number): Promise<void> {
  const { statements } = tx;
  await Promise.all([
    statements.run('DELETE FROM leases WHERE batch = $1', id),
    statements.run('DELETE FROM requests WHERE batch = $1', id),
    statements.run('DELETE FROM served WHERE batch = $1', id),
    statements.run('DELETE FROM blobs WHERE batch = $1', id),
    statements.run('DELETE FROM batches WHERE id = $1', id),
  ]);
  tx.forget(batch);
}

async function recountCached(tx: Transaction, batchId: number): Promise<void> {
  await tx.statements.run(RECOUNT_CACHED, batchId, keyOf(batchId, 0), lastKeyOf(batchId));
}

/** Reopens failed, cancelled and skipped tasks; see `Store.reopen`. */
export async function reopen(
  tx: Transaction,
  batch: string,
  ids: readonly string[] | undefined,
  at: number,
): Promise<number> {
  const locked = existing(tx, batch);
  if (ids !== undefined) return reopenThese(tx, batch, locked.id, ids, at);
  let total = 0;
  for (const which of [TOP_TASKS, ITEMS_OF_OPEN])
    for (const range of rangesOf(locked)) total += await retry(tx, locked.id, which, ...range);
  noteMany(tx, batch, total, at);
  return total;
}

async function reopenThese(
  tx: Transaction,
  batch: string,
  batchId: number,
  ids: readonly string[],
  at: number,
): Promise<number> {
  const found = new Map((await findTasks(tx, batchId, ids)).map((row) => [fromStored(row.id), row]));
  const parents = [...found.values()].flatMap(({ parent }) => parent ?? []);
  const rows = parents.length === 0 ? [] : await tx.statements.rows<GroupRow>(FIND_GROUPS, parents);
  const groups = new Map(rows.map((row) => [row.key, row]));
  const reopened = new Set<number>();
  /** Those that are reopened with all their items. */
  const wholes: number[] = [];
  for (const id of new Set(ids)) {
    const row = found.get(id);
    if (row === undefined) throw notReopened.unknown(batch, id);
    const isDone = reopened.has(row.key) || (row.parent !== null && wholes.includes(row.parent));
    if (isDone || !REOPENED.includes(row.status)) continue;
    const group = row.parent === null ? undefined : groups.get(row.parent);
    if (group !== undefined && group.status !== OPEN && !reopened.has(group.key)) {
      if (group.status === RUNNING) throw notReopened.groupRuns(batch, id);
      if (parsedOptions(group.options).program !== undefined) throw notReopened.isCall(batch, id);
      reopened.add(group.key);
    }
    reopened.add(row.key);
    wholes.push(row.key);
  }
  if (reopened.size === 0) return 0;
  // Before they are open: a group that begins anew has no items left.
  await removeItemsOfAnew(tx, batchId, THESE, wholes);
  const items = await retry(tx, batchId, ITEMS_OF_THESE, wholes);
  const count = items + (await openAgain(tx, batchId, THESE, [...reopened]));
  await noteTasks(tx, batch, [...reopened], count, 'opened', at);
  return count;
}

/** Reopens tasks. Those that begin anew lose their items. */
async function retry(tx: Transaction, batchId: number, which: string, ...values: Value[]): Promise<number> {
  await removeItemsOfAnew(tx, batchId, which, ...values);
  return openAgain(tx, batchId, which, ...values);
}

async function openAgain(
  tx: Transaction,
  batchId: number,
  which: string,
  ...values: Value[]
): Promise<number> {
  const rows = await tx.statements.rows<CountRow>(REOPEN(which), ...values);
  let total = 0;
  for (const { status, count } of rows) {
    tx.changeCount(batchId, status, -count);
    tx.changeCount(batchId, OPEN, count);
    total += count;
  }
  return total;
}

/** Groups that begin anew: a program, and one that failed although all rounds completed. */
async function removeItemsOfAnew(
  tx: Transaction,
  batchId: number,
  which: string,
  ...values: Value[]
): Promise<void> {
  const { statements } = tx;
  const groups = await statements.rows<GroupRow>(MAYBE_ANEW(which), ...values);
  if (groups.length === 0) return;
  const rows = await statements.rows<{ key: number }>(
    GROUPS_WITH_ITEMS,
    groups.map(({ key }) => key),
  );
  const withItems = new Set(rows.map(({ key }) => key));
  const anew = groups.flatMap(({ key, status, options }) => {
    const { program, repeat } = parsedOptions(options);
    const isRepeated = repeat !== undefined && status === FAILED && !withItems.has(key);
    return program !== undefined || isRepeated ? [key] : [];
  });
  if (anew.length === 0) return;
  const items = await statements.rows<{ key: number; status: number }>(DELETE_ITEMS, anew);
  for (const { status } of items) tx.changeCount(batchId, status, -1);
  const keys = items.map(({ key }) => key);
  await Promise.all([
    statements.run('DELETE FROM deliveries WHERE key = ANY($1::bigint[])', anew),
    statements.run('DELETE FROM logs WHERE key = ANY($1::bigint[])', anew),
    ...OF_TASKS.map((table) => statements.run(`DELETE FROM ${table} WHERE key = ANY($1::bigint[])`, keys)),
  ]);
  await recountCached(tx, batchId);
}

interface RunningRow {
  readonly key: number;
  readonly id: StoredText;
  readonly function: StoredText;
  readonly options: StoredText | null;
  readonly attempt_at: number | null;
  readonly waits: boolean;
}

type Found = { readonly batch: string; readonly id: string };

/** Recovers the tasks of dead processes; see `Store.recover`. */
export async function recover(
  tx: Transaction,
  holders: Holders,
  isIdempotent: (functionName: string) => boolean,
  only: string | undefined,
  at: number,
): Promise<Recovery> {
  const reopened: Found[] = [];
  const crashed: Found[] = [];
  const plans: (() => Promise<void>)[] = [];
  for (const batch of only === undefined ? await lockSuspects(tx, holders) : [only]) {
    const locked = tx.find(batch);
    if (locked === undefined) continue;
    const isOurs = only !== undefined && holders.isOwn(batch);
    if (!isOurs && holders.holderOf(locked.lease, tx.now) !== undefined) continue;
    const rows = await tx.statements.rows<RunningRow>(
      RUNNING_TASKS,
      keyOf(locked.id, 0),
      lastKeyOf(locked.id),
    );
    if (rows.length === 0) continue;
    // All are asked about before anything is written.
    const mayRunAgain = rows.map(
      (row) => row.waits || isIdempotent(fromStored(row.function)) || isGroup(parsedOptions(row.options)),
    );
    for (const [index, { id }] of rows.entries())
      (mayRunAgain[index] ? reopened : crashed).push({ batch, id: fromStored(id) });
    plans.push(() => recoverBatch(tx, holders, batch, locked, rows, mayRunAgain, at));
  }
  for (const plan of plans) await plan();
  return { reopened, crashed };
}

/** Locks the batches that have running tasks and seem to be held by nobody. */
async function lockSuspects(tx: Transaction, holders: Holders): Promise<string[]> {
  const rows = await tx.statements.rows<LeaseRow & { readonly name: StoredText; readonly now: number }>(
    SUSPECTS,
  );
  if (rows[0] !== undefined) tx.setTime(rows[0].now);
  const free = rows.filter(
    (row) => holders.holderOf(row.batch === null ? undefined : row, tx.now) === undefined,
  );
  const names = free.map(({ name }) => fromStored(name));
  await tx.lock(names.filter((name) => tx.find(name) === undefined));
  return names;
}

async function recoverBatch(
  tx: Transaction,
  holders: Holders,
  batch: string,
  locked: LockedBatch,
  rows: readonly RunningRow[],
  mayRunAgain: readonly boolean[],
  at: number,
): Promise<void> {
  const lastSeenAt = (await holders.takeLost(tx, batch, locked)) ?? at;
  const again = rows.filter((_, index) => mayRunAgain[index]);
  const ended = rows.filter((_, index) => !mayRunAgain[index]);
  const { statements } = tx;
  if (again.length > 0)
    await statements.run(
      OPEN_CRASHED,
      again.map(({ key }) => key),
    );
  if (ended.length > 0) {
    const ends = ended.map((row) =>
      unsuccessfulEnd(
        row.key,
        crashedEnd(fromStored(row.function)),
        crashedAt(row.attempt_at, lastSeenAt, at),
        undefined,
      ),
    );
    await statements.run(
      FAIL_CRASHED,
      ended.map(({ key }) => key),
    );
    await statements.run(WRITE_ENDS, ...columnsOf(ends));
  }
  noteMany(tx, batch, rows.length, at);
  tx.changeCount(locked.id, RUNNING, -rows.length);
  tx.changeCount(locked.id, OPEN, again.length);
  tx.changeCount(locked.id, FAILED, ended.length);
}
