import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import { isPostgresAddress, loadStore } from '../open/load-store.ts';
import { batchHeld } from '../refusals.ts';
import type { Store } from '../store.ts';
import type { CopySource, CopyTarget } from './side.ts';
import { type CopiedRow, type CopiedTable, copiedTables } from './tables.ts';

/** How many rows are in memory at once: few at first, then more or fewer by their size. */
const FIRST_PAGE = 8;
const MAX_PAGE = 1000;
const PAGE_BYTES = 4 * 2 ** 20;

/** A table that is the same on both sides. */
export interface CopiedCount {
  readonly table: string;
  readonly rows: number;
  /** The SHA-256 of all its rows, in hex. It is the same in both kinds of stores. */
  readonly sha256: string;
}

export interface CopyOptions {
  /** Called after each page. */
  readonly onProgress?: (stage: 'copying' | 'verifying', table: string, rows: number) => void;
}

/**
 * Copies everything that a store holds to a new one, which is a file that does not exist or an empty schema of a database.
 * Either all of it is there in the end and was read again and compared, or nothing.
 */
export async function copyStore(
  from: string,
  to: string,
  { onProgress }: CopyOptions = {},
): Promise<CopiedCount[]> {
  const source = await openSource(from);
  try {
    const store = await loadStore(from);
    try {
      await checkIdle(store);
      const version = await store.version();
      const target = await openTarget(to);
      try {
        const copied: CopiedCount[] = [];
        for (const table of copiedTables())
          copied.push(
            await through(source, table, async (rows, count) => {
              await target.write(table, rows);
              onProgress?.('copying', table.name, count);
            }),
          );
        for (const expected of copied) await verify(target, expected, onProgress);
        await checkIdle(store);
        if ((await store.version()) !== version)
          throw differs(
            to,
            `${source.place} was written to meanwhile. Stop the servers and commands that use it`,
          );
        await target.finish();
        return copied;
      } finally {
        await target.close();
      }
    } finally {
      await store.close();
    }
  } finally {
    await source.close();
  }
}

/** Reads a whole table, in pages. */
async function through(
  side: CopySource,
  table: CopiedTable,
  use: (rows: readonly CopiedRow[], count: number) => Promise<void>,
): Promise<CopiedCount> {
  const keyPlaces = table.key.map(({ name }) => table.columns.findIndex((column) => column.name === name));
  const hash = createHash('sha256');
  let [count, limit] = [0, FIRST_PAGE];
  for (let after: CopiedRow | undefined; ; await nextTurn()) {
    const rows = await side.page(table, { after, limit });
    if (rows.length === 0) break;
    let bytes = 0;
    for (const row of rows) {
      const text = rowText(row);
      hash.update(text);
      bytes += text.length;
    }
    limit = Math.max(1, Math.min(MAX_PAGE, 2 * limit, Math.floor((PAGE_BYTES * rows.length) / bytes)));
    count += rows.length;
    await use(rows, count);
    after = keyPlaces.map((place) => rows.at(-1)![place]!);
  }
  return { table: table.name, rows: count, sha256: hash.digest('hex') };
}

/** A row as text. Different rows have different texts. */
function rowText(row: CopiedRow): string {
  const cells = row.map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString('hex') : cell));
  return `${JSON.stringify(cells)}\n`;
}

async function verify(
  target: CopyTarget,
  expected: CopiedCount,
  onProgress: CopyOptions['onProgress'],
): Promise<void> {
  const table = copiedTables().find(({ name }) => name === expected.table)!;
  const found = await through(target, table, async (_, count) =>
    onProgress?.('verifying', table.name, count),
  );
  if (found.rows !== expected.rows || found.sha256 !== expected.sha256)
    throw differs(
      target.place,
      `its table ${table.name} is not what was written (${found.rows} of ${expected.rows} rows)`,
    );
}

async function checkIdle(store: Store): Promise<void> {
  const held = (await store.batches()).find(({ holder }) => holder !== undefined);
  if (held !== undefined) throw batchHeld(held.name, held.holder!);
}

function differs(place: string, reason: string): VolleyError {
  return new VolleyError('COPY_DIFFERS', `The copy to ${place} was given up: ${reason}.`, { store: place });
}

async function openSource(place: string): Promise<CopySource> {
  if (isPostgresAddress(place)) return (await import('./postgres-side.ts')).openPostgresSource(place);
  return (await import('./sqlite-side.ts')).openSqliteSource(place);
}

async function openTarget(place: string): Promise<CopyTarget> {
  if (isPostgresAddress(place)) return (await import('./postgres-side.ts')).openPostgresTarget(place);
  return (await import('./sqlite-side.ts')).openSqliteTarget(place);
}
