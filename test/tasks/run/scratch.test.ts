import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { openScratch } from '../../../src/tasks/run/scratch.ts';
import { project } from '../support/feature.ts';

it('what a killed run left is removed by the next one of its feature, and nothing else is', async () => {
  const feature = project();
  const killed = await openScratch(feature);
  writeFileSync(join(killed.folder, 'state'), 'large');

  const next = await openScratch(feature);
  expect([existsSync(killed.folder), existsSync(next.folder)]).toEqual([false, true]);
  await next.close();
  expect(existsSync(next.folder)).toBe(false);
  expect(existsSync(join(feature, '.scratch'))).toBe(false);

  const others = join(feature, 'theirs');
  mkdirSync(others);
  // Agents can write there.
  writeFileSync(join(feature, '.scratch'), join('..', tmpdir(), basename(feature), 'theirs'));
  const last = await openScratch(feature);
  await last.close();
  expect(existsSync(others)).toBe(true);
});
