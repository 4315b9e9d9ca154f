import { linkSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { closeDatabase, type Database, openDatabase } from '../database.ts';
import { asBuffer, fromStored, type StoredText, toStored } from '../rows.ts';
import { storeError } from '../store-error.ts';
import { type CopySource, type CopyTarget, notEmpty, type Page } from './side.ts';
import type { Cell, Column, CopiedRow, CopiedTable } from './tables.ts';

/** The rows of a file, as one snapshot. */
export async function openSqliteSource(path: string): Promise<CopySource> {
  const file = resolve(path);
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    throw new VolleyError('STORE_UNAVAILABLE', `The store ${file} cannot be copied: there is no such file.`, {
      store: file,
    });
  const database = await openDatabase(file);
  database.reader.exec('BEGIN');
  return {
    place: file,
    page: async (table, page) => readPage(database, table, page),
    close: async () => {
      database.reader.exec('COMMIT');
      closeDatabase(database);
    },
  };
}

/**
 * A new file. Everything is written to a file next to it, which gets its name when all is there: a copy that was
 * interrupted never looks like a store.
 */
export async function openSqliteTarget(path: string): Promise<CopyTarget> {
  const file = resolve(path);
  if (statSync(file, { throwIfNoEntry: false }) !== undefined)
    throw notEmpty(file, 'the file exists. Name a file that does not exist, or move this one away');
  const unfinished = `${file}.copying`;
  removeFiles(unfinished);
  const database = await openDatabase(unfinished);
  let isOpen = true;
  const close = () => {
    if (isOpen) closeDatabase(database);
    isOpen = false;
  };
  return {
    place: file,
    page: async (table, page) => readPage(database, table, page),
    write: async (table, rows) => writeRows(database, table, rows),
    finish: async () => {
      close();
      try {
        // Unlike a rename, this does not replace a file that another process has made meanwhile.
        linkSync(unfinished, file);
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === 'EEXIST'
          ? notEmpty(file, 'another process has made it meanwhile')
          : storeError(error, file);
      }
    },
    close: async () => {
      close();
      removeFiles(unfinished);
    },
  };
}

function removeFiles(file: string): void {
  for (const each of [file, `${file}-wal`, `${file}-shm`]) rmSync(each, { force: true });
}

function readPage(
  { reader }: Database,
  { name, columns, key }: CopiedTable,
  { after, limit }: Page,
): CopiedRow[] {
  const names = columns.map((column) => column.name);
  const keys = key.map((column) => column.name).join(', ');
  const where = after === undefined ? '' : `WHERE (${keys}) > (${key.map(() => '?').join(', ')})`;
  const rows = reader
    .prepare(`SELECT ${names.join(', ')} FROM store.${name} ${where} ORDER BY ${keys} LIMIT ${limit}`)
    .all(...(after ?? []).map((cell, index) => stored(cell, key[index]!))) as Record<string, StoredCell>[];
  return rows.map((row) => columns.map((column) => cellOf(row[column.name]!, column)));
}

function writeRows(
  { writer, file }: Database,
  { name, columns }: CopiedTable,
  rows: readonly CopiedRow[],
): void {
  const insert = writer.prepare(
    `INSERT INTO store.${name} (${columns.map((column) => column.name).join(', ')})
     VALUES (${columns.map(() => '?').join(', ')})`,
  );
  writer.exec('BEGIN IMMEDIATE');
  try {
    for (const row of rows) insert.run(...row.map((cell, index) => stored(cell, columns[index]!)));
    writer.exec('COMMIT');
  } catch (error) {
    if (writer.isTransaction) writer.exec('ROLLBACK');
    throw storeError(error, file);
  }
}

type StoredCell = number | StoredText | null;

function stored(cell: Cell, { kind }: Column): StoredCell {
  return kind === 'text' && cell !== null ? toStored(cell as string) : cell;
}

function cellOf(value: StoredCell, { kind }: Column): Cell {
  if (value === null || typeof value === 'number') return value;
  return kind === 'text' ? fromStored(value) : asBuffer(value as Uint8Array);
}
