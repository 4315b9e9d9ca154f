import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { actionLists } from '../../scripts/generate-actions.ts';

it('the lists of actions hold every definition: if this fails, run npx tsx scripts/generate-actions.ts', async () => {
  for (const [file, text] of Object.entries(await actionLists())) {
    const url = new URL(`../../src/batch/actions/${file}`, import.meta.url);
    expect(readFileSync(url, 'utf8'), file).toBe(text);
  }
});
