import { extname } from 'node:path';
import type { ResultRow } from '../result-row.ts';
import { oneLine } from '../text.ts';

/** A way to write results into a file, piece by piece. */
export interface ExportFormat {
  /** `answers`: the top-level fields of the answers of models and agents, as their schema names them. */
  begin(batch: string, answers: readonly string[]): string;
  /** `result` is the whole result as JSON text, if there is one. */
  row(row: ResultRow, result: string | undefined, index: number, answers: readonly string[]): string;
  end(): string;
}

/** The fields of a row, in the order in which files have them. */
const COLUMNS = [
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
  'cached',
  'worker',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'group',
  'index',
] as const satisfies readonly (keyof ResultRow)[];

/** Spreadsheets run a string that begins like this as a formula. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const QUOTED = /[",\r\n]/;

type Value = string | number | boolean | null;

/** RFC 4180, with a header line. The result is JSON text; fields of answers also have columns of their own. */
const csvFormat: ExportFormat = {
  begin: (_, answers) => line([...COLUMNS, ...answers.map((field) => `answer.${field}`), 'result']),
  row: (row, result, _, answers) =>
    line([...COLUMNS.map((column) => row[column] ?? null), ...answerCells(result, answers), result ?? null]),
  end: () => '',
};

function answerCells(result: string | undefined, fields: readonly string[]): Value[] {
  if (fields.length === 0) return [];
  const value: { answer?: unknown } | null = result === undefined ? null : JSON.parse(result);
  const answer = value?.answer;
  const known = typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {};
  return fields.map((field) => {
    const value = Object.hasOwn(known, field) ? known[field] : null;
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Value);
  });
}

/** Excel takes a CSV file for text in an old code page unless it begins with this mark. */
export const CSV_WITH_BOM: ExportFormat = {
  ...csvFormat,
  begin: (batch, answers) => `\ufeff${csvFormat.begin(batch, answers)}`,
};

function line(values: readonly Value[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

function cell(value: Value): string {
  if (value === null) return '';
  const text = harmless(String(value));
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** An apostrophe keeps a spreadsheet from running a formula. A negative number is not one. */
function harmless(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/** One document: the batch, and its tasks as a list. */
const jsonFormat: ExportFormat = {
  begin: (batch) => `{"batch":${JSON.stringify(batch)},"tasks":[\n`,
  row: (row, result, index) => `${index === 0 ? '' : ',\n'}${objectText(row, result)}`,
  end: () => '\n]}\n',
};

/** JSON Lines: a document for each task. */
const jsonLinesFormat: ExportFormat = {
  begin: () => '',
  row: (row, result) => `${objectText(row, result)}\n`,
  end: () => '',
};

/** The result is JSON already. */
function objectText(row: ResultRow, result: string | undefined): string {
  const text = JSON.stringify(row);
  return result === undefined ? text : `${text.slice(0, -1)},"result":${result}}`;
}

const MAX_CELL_LENGTH = 300;

/** A table for people. Long results are cut. */
const markdownFormat: ExportFormat = {
  begin: (batch) =>
    `# ${escaped(batch)}\n\n| id | name | function | status | attempts | ms | result or reason |\n|---|---|---|---|--:|--:|---|\n`,
  row: (row, result) => {
    const { id, name, function: tool, status, attempts, duration_ms: ms, reason, message, cause } = row;
    const why = [reason, message, cause === null ? null : `because of ${cause}`].filter(
      (part) => part !== null,
    );
    const state = row.cached ? `${status} (from cache)` : status;
    const cells = [id, name, tool, state, attempts, ms ?? '', result ?? why.join(': ')];
    return `| ${cells.map((cell) => escaped(String(cell))).join(' | ')} |\n`;
  },
  end: () => '',
};

/** On one line, with everything escaped that Markdown or HTML would interpret. */
function escaped(text: string): string {
  return oneLine(text, MAX_CELL_LENGTH)
    .replace(/[\\`*_{}[\]()#+!|~$-]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

export const EXPORT_FORMATS = {
  json: jsonFormat,
  csv: csvFormat,
  jsonl: jsonLinesFormat,
  markdown: markdownFormat,
} as const satisfies Record<string, ExportFormat>;

const BY_ENDING: Readonly<Record<string, keyof typeof EXPORT_FORMATS>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.md': 'markdown',
  '.markdown': 'markdown',
};

/** The format that the extension of a file stands for. */
export function exportFormatOf(path: string): keyof typeof EXPORT_FORMATS {
  return BY_ENDING[extname(path).toLowerCase()] ?? 'json';
}
