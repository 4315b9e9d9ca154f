import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { encodedLine, linesFrom } from './reading.ts';
import type { KeptOutput, OutputChunk } from './records.ts';
import type { OutputPage } from './store.ts';
import type { Steps } from './write-queue.ts';

/** A chunk grows up to this size, so that a task that prints a little now and then has few of them. */
export const CHUNK_BYTES = 64 * 1024;
/** What a row takes beside its text. */
export const ROW_BYTES = 64;
const ROWS_PER_STEP = 100;

interface ChunkRow {
  readonly id: number;
  readonly first: number;
  readonly lines: number;
  readonly bytes: number;
}

/**
 * The output of attempts. It is in the store and not in files beside it, because then it is deleted with its task,
 * other processes see it as they see all else, and small outputs, which are most, cost part of a transaction that is written
 * anyway. A line is stored as the index of its stream, its time and its text; it never contains a line break.
 */
export class OutputTable {
  private readonly last: StatementSyncInstance;
  private readonly append: StatementSyncInstance;
  private readonly insert: StatementSyncInstance;
  private readonly taskBytes: StatementSyncInstance;
  private readonly oldestOfTask: StatementSyncInstance;
  private readonly oldest: StatementSyncInstance;
  private readonly total: StatementSyncInstance;
  private readonly remove: StatementSyncInstance;
  private readonly kept: StatementSyncInstance;
  private readonly chunk: StatementSyncInstance;

  constructor({
    writer,
    reader,
  }: { readonly writer: DatabaseSyncInstance; readonly reader: DatabaseSyncInstance }) {
    this.last = writer.prepare(
      'SELECT id, first, lines, bytes FROM output WHERE key = ? AND attempt = ? ORDER BY first DESC LIMIT 1',
    );
    this.append = writer.prepare(
      'UPDATE output SET body = body || ?, lines = lines + ?, bytes = bytes + ? WHERE id = ?',
    );
    this.insert = writer.prepare(
      `INSERT INTO output (key, attempt, first, lines, bytes, body)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM tasks WHERE key = ?1)`,
    );
    this.taskBytes = writer.prepare('SELECT coalesce(sum(bytes), 0) AS bytes FROM output WHERE key = ?');
    this.oldestOfTask = writer.prepare(
      `SELECT id, first, lines, bytes FROM output WHERE key = ? ORDER BY attempt, first LIMIT ${ROWS_PER_STEP}`,
    );
    this.oldest = writer.prepare(
      `SELECT id, first, lines, bytes FROM output ORDER BY id LIMIT ${ROWS_PER_STEP}`,
    );
    this.total = writer.prepare('SELECT coalesce(sum(bytes), 0) AS bytes FROM output');
    this.remove = writer.prepare('DELETE FROM output WHERE id = ?');
    this.kept = reader.prepare(
      `SELECT attempt, min(first) AS first, max(first + lines) AS end, sum(bytes) AS bytes
       FROM output WHERE key = ? GROUP BY attempt ORDER BY attempt`,
    );
    this.chunk = reader.prepare(
      `SELECT first, body FROM output WHERE key = ? AND attempt = ? AND first + lines > ?
       ORDER BY first LIMIT 1`,
    );
  }

  add(key: number, { attempt, firstLine, lines }: OutputChunk, maxTaskBytes: number): void {
    const body = lines.map(encodedLine).join('');
    const bytes = Buffer.byteLength(body);
    const last = this.last.get(key, attempt) as ChunkRow | undefined;
    const follows = last !== undefined && last.first + last.lines === firstLine;
    if (follows && last.bytes + bytes <= CHUNK_BYTES) this.append.run(body, lines.length, bytes, last.id);
    else this.insert.run(key, attempt, firstLine, lines.length, bytes + ROW_BYTES, body);
    const over = (this.taskBytes.get(key) as { bytes: number }).bytes - maxTaskBytes;
    if (over > 0) this.drop(this.oldestOfTask.all(key) as unknown as ChunkRow[], over);
  }

  *trim(maxBytes: number): Steps<number> {
    let dropped = 0;
    const over = (this.total.get() as { bytes: number }).bytes - maxBytes;
    while (dropped < over) {
      const rows = this.oldest.all() as unknown as ChunkRow[];
      if (rows.length === 0) break;
      dropped += this.drop(rows, over - dropped);
      yield;
    }
    return dropped;
  }

  keptOf(key: number): KeptOutput[] {
    const rows = this.kept.all(key) as unknown as {
      attempt: number;
      first: number;
      end: number;
      bytes: number;
    }[];
    return rows.map(({ attempt, first, end, bytes }) => ({ attempt, firstLine: first, endLine: end, bytes }));
  }

  read(key: number, attempt: number, fromLine: number): OutputPage | undefined {
    const row = this.chunk.get(key, attempt, fromLine) as { first: number; body: string } | undefined;
    return row && linesFrom(row, fromLine);
  }

  /** Removes rows, the first ones first, until enough bytes are gone. Returns their number. */
  private drop(rows: readonly ChunkRow[], enough: number): number {
    let dropped = 0;
    for (const { id, bytes } of rows) {
      if (dropped >= enough) break;
      this.remove.run(id);
      dropped += bytes;
    }
    return dropped;
  }
}
