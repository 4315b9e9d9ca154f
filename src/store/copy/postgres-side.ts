import { Database, type Statements, type Value } from '../postgres/connection.ts';
import { postgresError } from '../postgres/postgres-error.ts';
import { migrate } from '../postgres/schema.ts';
import { toText } from '../postgres/text.ts';
import { asBuffer, fromStored, type StoredText } from '../rows.ts';
import { type CopySource, type CopyTarget, notEmpty, type Page } from './side.ts';
import {
  type Cell,
  type Column,
  type ColumnKind,
  type CopiedRow,
  type CopiedTable,
  copiedTables,
} from './tables.ts';

const TYPES: Readonly<Record<ColumnKind, string>> = {
  integer: 'bigint',
  real: 'float8',
  text: 'text',
  bytes: 'bytea',
};
/** The other side is read in the middle of a transaction. */
const NO_IDLE_LIMIT = 'SET LOCAL idle_in_transaction_session_timeout = 0';
const NEW_WRITE = 'UPDATE writers SET writes = writes + 1 WHERE id = 0';

/** The rows of a schema, as one snapshot. */
export async function openPostgresSource(address: string): Promise<CopySource> {
  return opened(address, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async (database, statements) => ({
    place: database.place,
    page: (table, page) => translated(database, readPage(statements, table, page)),
    close: () => database.close(),
  }));
}

/** An empty schema. All is written in one transaction. */
export async function openPostgresTarget(address: string): Promise<CopyTarget> {
  return opened(address, 'BEGIN', async (database, statements) => {
    await statements.run('LOCK TABLE batches, cache IN EXCLUSIVE MODE');
    for (const { name } of copiedTables()) {
      const found = await statements.rows(`SELECT 1 FROM ${name} LIMIT 1`);
      if (found.length > 0)
        throw notEmpty(
          database.place,
          `its schema ${database.schema} has content (${name}). Name another schema: ?schema=NAME`,
        );
    }
    return {
      place: database.place,
      page: (table, page) => translated(database, readPage(statements, table, page)),
      write: (table, rows) => translated(database, writeRows(statements, table, rows)),
      finish: () => translated(database, finish(statements)),
      close: () => database.close(),
    };
  });
}

async function opened<T>(
  address: string,
  begin: string,
  use: (database: Database, statements: Statements) => Promise<T>,
): Promise<T> {
  const database = await Database.open(address);
  try {
    await migrate(database);
    const statements = await database.writing();
    await statements.run(begin);
    await statements.run(NO_IDLE_LIMIT);
    return await use(database, statements);
  } catch (error) {
    await database.close();
    throw postgresError(error, database.place);
  }
}

async function translated<T>({ place }: Database, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw postgresError(error, place);
  }
}

async function readPage(
  statements: Statements,
  { name, columns, key }: CopiedTable,
  { after, limit }: Page,
): Promise<CopiedRow[]> {
  const keys = key.map((column) => column.name).join(', ');
  const places = key.map(({ kind }, index) => `$${index + 1}::${TYPES[kind]}`).join(', ');
  const rows = await statements.arrays<readonly (number | StoredText | null)[]>(
    `SELECT ${columns.map((column) => column.name).join(', ')} FROM ${name}
     ${after === undefined ? '' : `WHERE (${keys}) > (${places})`} ORDER BY ${keys} LIMIT ${limit}`,
    ...(after ?? []).map((cell, index) => stored(cell, key[index]!)),
  );
  return rows.map((row) => row.map((value, index) => cellOf(value, columns[index]!)));
}

async function writeRows(
  statements: Statements,
  { name, columns }: CopiedTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  const names = columns.map((column) => column.name).join(', ');
  const lists = columns.map(({ kind }, index) => `$${index + 1}::${TYPES[kind]}[]`).join(', ');
  const values = columns.map((column, index) => rows.map((row) => stored(row[index]!, column)));
  await statements.run(`INSERT INTO ${name} (${names}) SELECT * FROM unnest(${lists})`, ...values);
}

/** New batches and chunks of output are numbered after the copied ones. */
async function finish(statements: Statements): Promise<void> {
  for (const table of ['batches', 'output'])
    await statements.rows(
      `SELECT setval(pg_get_serial_sequence('${table}', 'id'), coalesce(max(id), 1), max(id) IS NOT NULL) FROM ${table}`,
    );
  await statements.run(NEW_WRITE);
  await statements.run('COMMIT');
}

function stored(cell: Cell, { kind }: Column): Exclude<Value, readonly Value[]> {
  return kind === 'text' && cell !== null ? toText(cell as string) : cell;
}

function cellOf(value: number | StoredText | null, { kind }: Column): Cell {
  if (value === null || typeof value === 'number') return value;
  return kind === 'text' ? fromStored(value) : asBuffer(value as Uint8Array);
}
