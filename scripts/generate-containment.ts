import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CONTAINS, type Containment } from '../src/runners/containment.ts';

const TARGET = new URL('../docs/tools.md', import.meta.url);
const PART = /(<!-- containment -->\n).*(<!-- \/containment -->)/s;
const RUNNERS = ['inline', 'thread', 'process'] as const;

/** A page with its table of faults made anew from the one in `src/runners/containment.ts`. */
export function withContainment(page: string): string {
  const rows = Object.values<Containment>(CONTAINS).map(({ fault, containedBy }) => {
    const marks = RUNNERS.map((runner) => (containedBy.includes(runner) ? 'contained' : ''));
    return `| ${fault} | ${marks.join(' | ')} |\n`;
  });
  const table = `| the tool … | ${RUNNERS.join(' | ')} |\n|---|---|---|---|\n${rows.join('')}`;
  return page.replace(PART, (_, start, end) => `${start}${table}${end}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(TARGET, withContainment(readFileSync(TARGET, 'utf8')));
