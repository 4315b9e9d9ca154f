import { extname } from 'node:path';
import { csvFormat } from './csv.ts';
import type { ExportFormat } from './format.ts';
import { jsonFormat, jsonLinesFormat } from './json.ts';
import { markdownFormat } from './markdown.ts';

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

/** The format that the name of a file asks for. */
export function formatOf(path: string): keyof typeof EXPORT_FORMATS {
  return BY_ENDING[extname(path).toLowerCase()] ?? 'json';
}
