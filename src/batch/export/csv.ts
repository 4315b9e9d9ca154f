import { COLUMNS, type ExportFormat } from './format.ts';

/** What a spreadsheet takes for the begin of a formula, full-width forms included. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const QUOTED = /[",\r\n]/;

/** RFC 4180, with a header line. The result is JSON text. */
export const csvFormat: ExportFormat = {
  begin: () => line([...COLUMNS, 'result']),
  row: (row, result) => line([...COLUMNS.map((column) => row[column]), result ?? null]),
  end: () => '',
};

function line(values: readonly (string | number | null)[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

function cell(value: string | number | null): string {
  if (value === null) return '';
  const text = harmless(String(value));
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A text that a spreadsheet would run as a formula gets an apostrophe in front. A negative number is none. */
function harmless(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}
