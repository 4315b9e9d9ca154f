/**
 * Analyse many files with one line, then work with what came out.
 *
 * Look at: one command makes a task for each file; `export` writes the results as JSON Lines, which any program reads.
 * Interrupt it with Ctrl-C and run the same `volley run` by hand: it goes on where it was.
 */

import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { forget, volley } from '../shared/volley.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const out = 'examples/analyse-files/out';
mkdirSync(`${root}/${out}`, { recursive: true });

await forget(root, 'analyse-files');
process.exitCode = await volley(root, [
  'run',
  '--batch',
  'analyse-files',
  '--each',
  'src/**/*.ts',
  '--function',
  'code_analyzer_tool',
  '--params',
  '{"action":"analyze","file_path":"{}"}',
]);
await volley(root, [
  'export',
  '--batch',
  'analyse-files',
  '--filter-status',
  'completed',
  '--format',
  'jsonl',
  '--output-file',
  `${out}/files.jsonl`,
]);

const files = readFileSync(`${root}/${out}/files.jsonl`, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line).result);
const functions = files.flatMap(({ file_path, functions }) =>
  functions.map(({ name, complexity, line }) => ({ complexity, name, where: `${file_path}:${line}` })),
);
const lines = files.reduce((sum, file) => sum + file.lines.code, 0);

console.log(
  `\n${files.length} files, ${lines} lines of code, ${functions.length} functions. The most complex:`,
);
for (const { complexity, name, where } of functions.sort((a, b) => b.complexity - a.complexity).slice(0, 5))
  console.log(`  ${String(complexity).padStart(3)}  ${name}  ${where}`);
