import type { StatementSyncInstance } from '@photostructure/sqlite';
import type { Database } from './database.ts';
import { fromStored, fromStoredOrNull, type StoredText, toStored } from './rows.ts';
import type { HolderRequest } from './store.ts';

/** Requests to the process that runs a batch. */
export class Requests {
  private readonly insert: StatementSyncInstance;
  private readonly update: StatementSyncInstance;
  private readonly remove: StatementSyncInstance;
  private readonly removeAll: StatementSyncInstance;
  private readonly open: StatementSyncInstance;
  private readonly one: StatementSyncInstance;

  constructor({ writer, reader }: Pick<Database, 'writer' | 'reader'>) {
    this.insert = writer.prepare('INSERT INTO requests (batch, body) VALUES (?, ?)');
    this.update = writer.prepare('UPDATE requests SET answer = ? WHERE id = ?');
    this.remove = writer.prepare('DELETE FROM requests WHERE id = ?');
    this.removeAll = writer.prepare('DELETE FROM requests WHERE batch = ?');
    this.open = reader.prepare(
      `SELECT id, body FROM requests
       WHERE answer IS NULL AND batch = (SELECT id FROM batches WHERE name = ?) ORDER BY id`,
    );
    this.one = reader.prepare('SELECT answer FROM requests WHERE id = ?');
  }

  add(batchId: number, body: string): number {
    return Number(this.insert.run(batchId, toStored(body)).lastInsertRowid);
  }

  answer(id: number, body: string): void {
    this.update.run(toStored(body), id);
  }

  forget(id: number): void {
    this.remove.run(id);
  }

  /** A new holder does not get requests made to another. */
  forgetAll(batchId: number): void {
    this.removeAll.run(batchId);
  }

  unanswered(batch: string): HolderRequest[] {
    const rows = this.open.all(toStored(batch)) as { id: number; body: StoredText }[];
    return rows.map(({ id, body }) => ({ id, body: fromStored(body) }));
  }

  answerTo(id: number): string | undefined {
    const row = this.one.get(id) as { answer: StoredText | null } | undefined;
    return row && fromStoredOrNull(row.answer);
  }
}
