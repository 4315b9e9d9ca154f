/** The sources of Volley, analysed in parallel by Volley: `npm run demo`. */

import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { forget, isUnfinished, volley } from './shared/volley.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const picture = '.volley/demo.svg';

if (!(await isUnfinished(root, 'demo'))) await forget(root, 'demo');
mkdirSync(new URL('../.volley/', import.meta.url), { recursive: true });
process.exitCode = await volley(root, [
  'run',
  '--batch',
  'demo',
  '--each',
  'src/**/*.ts',
  '--function',
  'code_analyzer_tool',
  '--params',
  '{"action":"analyze","file_path":"{}"}',
  '--gantt',
  picture,
]);
