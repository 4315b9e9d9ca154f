import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ERROR_CODES } from '../src/core/errors.ts';

const TARGET = new URL('../docs/errors.md', import.meta.url);

/** The page `docs/errors.md`, made from the table of error codes. */
export function errorsPage(): string {
  const sections = Object.entries(ERROR_CODES).map(
    ([code, { meaning, remedy }]) => `## ${code}

${escapeHtml(meaning)}

**What to do:** ${escapeHtml(remedy)}
`,
  );
  return `# Errors

Every error that Volley itself raises is a \`VolleyError\` with one of these codes as its \`code\`. The message says what
is wrong and what to do; \`details\` has the same facts as data. A code never changes its meaning and is never reused.
Errors that a tool throws are passed on unchanged.

This page is generated from the tables in \`src/core/error-codes.ts\` by \`npx tsx scripts/generate-errors.ts\`.

${sections.join('\n')}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('<', '&lt;');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(new URL('.', TARGET), { recursive: true });
  writeFileSync(TARGET, errorsPage());
}
