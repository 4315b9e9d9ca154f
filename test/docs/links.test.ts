import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages, ROOT } from './markdown.ts';

const all = pages();
const links = all.flatMap(({ path, links }) => links.map((link) => ({ path, link })));

describe('a link in the docs', () => {
  it.each(links)('leads to something that exists: $path to $link', ({ path, link }) => {
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : posix.join(posix.dirname(path), file);
    expect(existsSync(join(ROOT, target)), `${target} exists`).toBe(true);
    if (anchor !== undefined)
      expect([...(all.find((page) => page.path === target)?.anchors ?? [])]).toContain(anchor);
  });

  it('never leads into the generated reference, which a fresh checkout does not have', () => {
    expect(
      links.filter(({ path, link }) => posix.join(posix.dirname(path), link).startsWith('docs/api')),
    ).toEqual([]);
  });
});
