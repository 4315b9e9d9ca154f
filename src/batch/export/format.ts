import type { ResultRow } from '../result-row.ts';

/** A way to write results into a file, piece by piece. */
export interface ExportFormat {
  begin(batch: string): string;
  /** `result` is the whole result as JSON text, if there is one. */
  row(row: ResultRow, result: string | undefined, index: number): string;
  end(): string;
}

/** The fields of a row, in the order in which files have them. */
export const COLUMNS = [
  'id',
  'name',
  'function',
  'status',
  'attempts',
  'started_at',
  'ended_at',
  'duration_ms',
  'reason',
  'code',
  'message',
  'cause',
] as const satisfies readonly (keyof ResultRow)[];
