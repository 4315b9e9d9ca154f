import { VolleyError } from '../../core/errors.ts';
import type { CopiedRow, CopiedTable } from './tables.ts';

/** Rows of a table in the order of its primary key. */
export interface Page {
  /** The primary key of the row before the first one; undefined to begin. */
  readonly after: CopiedRow | undefined;
  readonly limit: number;
}

/** A store that is read table by table. */
export interface CopySource {
  readonly place: string;
  page(table: CopiedTable, page: Page): Promise<CopiedRow[]>;
  close(): Promise<void>;
}

/** A new store. Nobody sees anything of it before `finish`; after `close` without it, nothing is left. */
export interface CopyTarget extends CopySource {
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  finish(): Promise<void>;
}

export function notEmpty(place: string, reason: string): VolleyError {
  return new VolleyError(
    'STORE_NOT_EMPTY',
    `The store ${place} cannot take a copy: ${reason}. Nothing was copied.`,
    { store: place },
  );
}
