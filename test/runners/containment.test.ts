import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { withContainment } from '../../scripts/generate-containment.ts';
import { CONTAINS } from '../../src/runners/containment.ts';

const page = readFileSync(new URL('../../docs/tools.md', import.meta.url), 'utf8');

it('docs/tools.md has the table of faults: if this fails, run npx tsx scripts/generate-containment.ts', () => {
  expect(page).toBe(withContainment(page));
  for (const { fault } of Object.values(CONTAINS)) expect(page).toContain(`| ${fault} |`);
});
