import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { RealAgent } from './real-agents.ts';
import type { Workplace } from './workplace.ts';

/** Where what agents wrote is kept for the tests of the readers. */
const STREAMS = fileURLToPath(new URL('../fixtures/', import.meta.url));

/** With `VOLLEY_CAPTURE` set, keeps what an agent wrote, without the names of folders on this machine. */
export function keepStream(
  { name, version }: RealAgent,
  lines: readonly string[],
  place: Workplace,
  how = '',
): void {
  if (process.env['VOLLEY_CAPTURE'] === undefined) return;
  const text = lines.join('\n').replaceAll(place.project, '/project').replaceAll(place.home, '/home/user');
  writeFileSync(`${STREAMS}${name}-${version}${how}.jsonl`, text);
}
