import type { ResultRow } from '../result-row.ts';
import type { ExportFormat } from './format.ts';

/** One document: the batch, and its tasks as a list. */
export const jsonFormat: ExportFormat = {
  begin: (batch) => `{"batch":${JSON.stringify(batch)},"tasks":[\n`,
  row: (row, result, index) => `${index === 0 ? '' : ',\n'}${objectText(row, result)}`,
  end: () => '\n]}\n',
};

/** JSON Lines: a document for each task. */
export const jsonLinesFormat: ExportFormat = {
  begin: () => '',
  row: (row, result) => `${objectText(row, result)}\n`,
  end: () => '',
};

/** The result is JSON already. */
function objectText(row: ResultRow, result: string | undefined): string {
  const text = JSON.stringify(row);
  return result === undefined ? text : `${text.slice(0, -1)},"result":${result}}`;
}
