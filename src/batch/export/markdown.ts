import { oneLine } from '../text.ts';
import type { ExportFormat } from './format.ts';

const LONGEST_CELL = 300;

/** A table for people; long results are cut. */
export const markdownFormat: ExportFormat = {
  begin: (batch) =>
    `# ${escaped(batch)}\n\n| id | name | function | status | attempts | ms | result or reason |\n|---|---|---|---|--:|--:|---|\n`,
  row: (row, result) => {
    const { id, name, function: tool, status, attempts, duration_ms: ms, reason, message, cause } = row;
    const why = [reason, message, cause === null ? null : `because of ${cause}`].filter(
      (part) => part !== null,
    );
    const cells = [id, name, tool, status, attempts, ms ?? '', result ?? why.join(': ')];
    return `| ${cells.map((cell) => escaped(String(cell))).join(' | ')} |\n`;
  },
  end: () => '',
};

/** On one line, and without anything that Markdown or HTML would make something of. */
function escaped(text: string): string {
  return oneLine(text, LONGEST_CELL)
    .replace(/[\\`*_{}[\]()#+!|~$-]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
