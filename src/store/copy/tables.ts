import { emptyDatabase } from '../database.ts';

/** What a column contains, whichever store it is in. */
export type ColumnKind = 'integer' | 'real' | 'text' | 'bytes';

export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** A table as it is copied. All stores have the same tables with the same columns. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly Column[];
  /** The columns of its primary key, in order. */
  readonly key: readonly Column[];
}

/** A value as both kinds of stores read and write it. */
export type Cell = number | string | Uint8Array | null;
export type CopiedRow = readonly Cell[];

/** They belong to processes: who runs a batch, and what is asked of it. */
const NOT_COPIED: ReadonlySet<string> = new Set(['leases', 'requests']);
/** The others refer to these. */
const FIRST = ['batches', 'tasks'];

const KINDS: Readonly<Record<string, ColumnKind>> = {
  INTEGER: 'integer',
  REAL: 'real',
  TEXT: 'text',
  ANY: 'text',
  BLOB: 'bytes',
};

/** The tables of the newest format, as the migrations make them. */
export function copiedTables(): CopiedTable[] {
  const { writer } = emptyDatabase('the format of a store');
  try {
    const rows = writer
      .prepare(
        `SELECT name FROM store.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`,
      )
      .all() as { name: string }[];
    const names = rows.map(({ name }) => name).filter((name) => !NOT_COPIED.has(name));
    const others = names.filter((name) => !FIRST.includes(name));
    return [...FIRST, ...others].map((name) => {
      const infos = writer.prepare(`PRAGMA store.table_info(${name})`).all() as {
        name: string;
        type: string;
        pk: number;
      }[];
      const columnOf = ({ name: column, type }: (typeof infos)[number]): Column => ({
        name: column,
        kind: KINDS[type]!,
      });
      const key = infos.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
      return { name, columns: infos.map(columnOf), key: key.map(columnOf) };
    });
  } finally {
    writer.close();
  }
}
