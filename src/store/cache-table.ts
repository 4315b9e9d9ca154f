import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { CachedEntry, StoredCachedEntry } from '../coordinator/result-cache.ts';
import type { CacheUse } from './records.ts';
import { fromStored, type StoredText, toStored } from './rows.ts';
import type { Steps } from './write-queue.ts';

const ROWS_PER_STEP = 100;

interface CacheData {
  readonly function: StoredText;
  readonly created_at: number;
  readonly used_at: number;
  readonly signature: Uint8Array;
  readonly body: Uint8Array;
}

/** Cached results. They belong to no batch, and outlive the tasks whose results they were. */
export class CacheTable {
  private readonly select: StatementSyncInstance;
  private readonly insert: StatementSyncInstance;
  private readonly use: StatementSyncInstance;
  private readonly total: StatementSyncInstance;
  private readonly byFunction: StatementSyncInstance;
  private readonly removeOld: StatementSyncInstance;
  private readonly leastUsed: StatementSyncInstance;
  private readonly removeOne: StatementSyncInstance;

  constructor({
    writer,
    reader,
  }: { readonly writer: DatabaseSyncInstance; readonly reader: DatabaseSyncInstance }) {
    this.select = reader.prepare(
      'SELECT function, created_at, used_at, signature, body FROM cache WHERE key = ? AND bytes <= ? AND length(body) <= ?',
    );
    this.byFunction = reader.prepare(
      `SELECT function, count(*) AS results, sum(bytes) AS bytes, max(used_at) AS used_at
       FROM cache GROUP BY function ORDER BY sum(bytes) DESC, function`,
    );
    this.insert = writer.prepare(
      `INSERT OR REPLACE INTO cache (key, function, created_at, used_at, bytes, signature, body)
       VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6)`,
    );
    this.use = writer.prepare('UPDATE cache SET used_at = max(used_at, ?) WHERE key = ?');
    this.total = writer.prepare('SELECT coalesce(sum(bytes), 0) AS bytes FROM cache');
    this.removeOld = writer.prepare(
      `DELETE FROM cache WHERE rowid IN (SELECT rowid FROM cache WHERE created_at < ? LIMIT ${ROWS_PER_STEP})`,
    );
    this.leastUsed = writer.prepare(
      `SELECT rowid AS id, bytes FROM cache ORDER BY used_at LIMIT ${ROWS_PER_STEP}`,
    );
    this.removeOne = writer.prepare('DELETE FROM cache WHERE rowid = ?');
  }

  find(key: Uint8Array, maxBytes: number): StoredCachedEntry | undefined {
    const row = this.select.get(key, maxBytes, maxBytes) as CacheData | undefined;
    if (row === undefined) return undefined;
    const { created_at: createdAt, used_at: usedAt, signature, body } = row;
    return { key, function: fromStored(row.function), createdAt, usedAt, signature, body };
  }

  add(entries: readonly CachedEntry[]): void {
    for (const { key, function: tool, createdAt, signature, body } of entries)
      this.insert.run(key, toStored(tool), Math.trunc(createdAt), body.length, signature, body);
  }

  used(keys: readonly Uint8Array[], at: number): void {
    for (const key of keys) this.use.run(Math.trunc(at), key);
  }

  *trim(createdAfter: number, maxBytes: number): Steps<number> {
    let total = 0;
    for (let removed = -1; removed !== 0; total += removed) {
      removed = this.removeOld.run(Math.trunc(createdAfter)).changes;
      yield;
    }
    let left = (this.total.get() as { bytes: number }).bytes - maxBytes;
    while (left > 0) {
      const rows = this.leastUsed.all() as { id: number; bytes: number }[];
      if (rows.length === 0) return total;
      for (const { id, bytes } of rows) {
        if (left <= 0) break;
        this.removeOne.run(id);
        left -= bytes;
        total++;
      }
      yield;
    }
    return total;
  }

  uses(): CacheUse[] {
    const rows = this.byFunction.all() as {
      function: StoredText;
      results: number;
      bytes: number;
      used_at: number;
    }[];
    return rows.map(({ function: tool, results, bytes, used_at: lastUsedAt }) => ({
      function: fromStored(tool),
      results,
      bytes,
      lastUsedAt,
    }));
  }
}
