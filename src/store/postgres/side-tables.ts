import type { CachedEntry } from '../../coordinator/result-cache.ts';
import { CHUNK_BYTES, ROW_BYTES } from '../output-table.ts';
import { encodedLine } from '../reading.ts';
import type { OutputChunk } from '../records.ts';
import { keyOf } from '../rows.ts';
import type { Statements, Value } from './connection.ts';
import { columnsOf } from './task-states.ts';
import { toText } from './text.ts';
import type { Transaction } from './transaction.ts';

/** Writes to the cache and to the output of tasks, which do not change the tasks. */

const ADD_CACHED = `
  INSERT INTO cache (key, function, created_at, used_at, bytes, signature, body)
  SELECT u.key, u.function, u.at, u.at, length(u.body), u.signature, u.body
  FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bytea[], $5::bytea[]) u (key, function, at, signature, body)
  ON CONFLICT (key) DO UPDATE SET function = excluded.function, created_at = excluded.created_at,
    used_at = excluded.used_at, bytes = excluded.bytes, signature = excluded.signature, body = excluded.body`;
const USE_CACHED = 'UPDATE cache SET used_at = greatest(used_at, $2) WHERE key = ANY($1::bytea[])';
const DELETE_OLD = 'DELETE FROM cache WHERE created_at < $1';
/** The least recently used ones, until enough bytes are gone. */
const DELETE_LEAST_USED = `
  DELETE FROM cache c USING (
    SELECT key, sum(bytes) OVER (ORDER BY used_at, key) - bytes AS before, sum(bytes) OVER () - $1 AS surplus FROM cache) r
  WHERE c.key = r.key AND r.before < r.surplus`;
/** Bytes per statement. */
const CACHE_BYTES = 4 * 2 ** 20;

export async function cacheResults(
  { statements }: Transaction,
  entries: readonly CachedEntry[],
): Promise<void> {
  // A statement cannot write a row twice: the last one counts. All processes write in the same order.
  const byKey = new Map(entries.map((entry) => [Buffer.from(entry.key).toString('hex'), entry]));
  let rows: Value[][] = [];
  let bytes = 0;
  const write = async () => {
    if (rows.length > 0) await statements.run(ADD_CACHED, ...columnsOf(rows));
    [rows, bytes] = [[], 0];
  };
  for (const hex of [...byKey.keys()].sort()) {
    const { key, function: tool, createdAt, signature, body } = byKey.get(hex)!;
    rows.push([key, toText(tool), Math.trunc(createdAt), signature, body]);
    bytes += body.length;
    if (bytes > CACHE_BYTES) await write();
  }
  await write();
}

export async function cacheUsed(tx: Transaction, keys: readonly Uint8Array[], at: number): Promise<void> {
  await tx.statements.run(USE_CACHED, keys, Math.trunc(at));
}

export async function trimCache(
  { statements }: Transaction,
  createdAfter: number,
  maxBytes: number,
): Promise<number> {
  const old = await statements.run(DELETE_OLD, Math.trunc(createdAfter));
  return old + (await statements.run(DELETE_LEAST_USED, maxBytes));
}

const LAST_CHUNKS = `
  SELECT w.n, l.id, l.first, l.lines, l.bytes, EXISTS (SELECT 1 FROM tasks t WHERE t.key = w.key) AS has_task,
    (SELECT coalesce(sum(o.bytes), 0) FROM output o WHERE o.key = w.key) AS task_bytes
  FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY w (key, attempt, n) LEFT JOIN LATERAL (
    SELECT o.id, o.first, o.lines, o.bytes FROM output o WHERE o.key = w.key AND o.attempt = w.attempt
    ORDER BY o.first DESC LIMIT 1) l ON true ORDER BY w.n`;
const APPEND = 'UPDATE output SET body = body || $2, lines = lines + $3, bytes = bytes + $4 WHERE id = $1';
const ADD_CHUNK = `
  INSERT INTO output (key, attempt, first, lines, bytes, body) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`;
/** The oldest chunks of a task, or of all, until enough bytes are gone. */
const DROP_OLDEST = (which: string, order: string) => `
  WITH gone AS (
    DELETE FROM output o USING (
      SELECT id, sum(bytes) OVER (ORDER BY ${order}) - bytes AS before FROM output ${which}) r
    WHERE o.id = r.id AND r.before < $1 RETURNING o.bytes)
  SELECT coalesce(sum(bytes), 0) AS bytes FROM gone`;
const DROP_OF_TASK = DROP_OLDEST('WHERE key = $2', 'attempt, first');
const DROP_OF_ALL = DROP_OLDEST('', 'id');
const OUTPUT_BYTES = 'SELECT coalesce(sum(bytes), 0) AS bytes FROM output';

interface ChunkRow {
  readonly id: number | null;
  readonly first: number;
  readonly lines: number;
  readonly bytes: number;
  readonly has_task: boolean;
  readonly task_bytes: number;
}

/** Adds lines of output. One chunk of an attempt after the other: each may continue the one before it. */
export async function addOutput(
  { statements }: Transaction,
  batchId: number,
  chunks: readonly OutputChunk[],
  maxTaskBytes: number,
): Promise<void> {
  for (const some of distinct(chunks)) {
    const keys = some.map(({ seq }) => keyOf(batchId, seq));
    const rows = await statements.rows<ChunkRow>(
      LAST_CHUNKS,
      keys,
      some.map(({ attempt }) => attempt),
    );
    await Promise.all(
      some.map((chunk, index) => addChunk(statements, keys[index]!, chunk, rows[index]!, maxTaskBytes)),
    );
  }
}

async function addChunk(
  statements: Statements,
  key: number,
  { attempt, firstLine, lines }: OutputChunk,
  last: ChunkRow,
  maxTaskBytes: number,
): Promise<void> {
  if (!last.has_task) return;
  // PostgreSQL stores no NUL. Lines have none anyway.
  const body = lines.map(encodedLine).join('').replaceAll('\0', '');
  const bytes = Buffer.byteLength(body);
  const follows = last.id !== null && last.first + last.lines === firstLine;
  const isAppended = follows && last.bytes + bytes <= CHUNK_BYTES;
  const writes: Promise<unknown>[] = [
    isAppended
      ? statements.run(APPEND, last.id, body, lines.length, bytes)
      : statements.run(ADD_CHUNK, key, attempt, firstLine, lines.length, bytes + ROW_BYTES, body),
  ];
  const over = last.task_bytes + bytes + (isAppended ? 0 : ROW_BYTES) - maxTaskBytes;
  if (over > 0) writes.push(statements.rows(DROP_OF_TASK, over, key));
  await Promise.all(writes);
}

/** Chunks in order, in lists that have one chunk of each task at most. */
function distinct(chunks: readonly OutputChunk[]): OutputChunk[][] {
  const lists: OutputChunk[][] = [];
  const seen = new Map<number, number>();
  for (const chunk of chunks) {
    const list = seen.get(chunk.seq) ?? 0;
    seen.set(chunk.seq, list + 1);
    lists[list] ??= [];
    lists[list].push(chunk);
  }
  return lists;
}

export async function trimOutput({ statements }: Transaction, maxBytes: number): Promise<number> {
  const [{ bytes: total } = { bytes: 0 }] = await statements.rows<{ bytes: number }>(OUTPUT_BYTES);
  if (total <= maxBytes) return 0;
  const [gone] = await statements.rows<{ bytes: number }>(DROP_OF_ALL, total - maxBytes);
  return gone!.bytes;
}
