import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const text = readFileSync(new URL('docs/architecture.md', root), 'utf8');

/** Files and folders of the source that the text names, such as `src/core/scheduler.ts` and `src/batch`. */
const named = [...new Set(text.match(/\bsrc\/[\w./-]*\w/g))];

test('docs/architecture.md names modules that exist', () => {
  expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
});

test.each(['The path of a call', 'The path of an event'])('%s is told with its modules', (heading) => {
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  expect(section.match(/`src\/[\w/-]+\.ts`/g)?.length ?? 0).toBeGreaterThanOrEqual(5);
});
