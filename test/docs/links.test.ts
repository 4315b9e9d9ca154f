import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { pages, ROOT, read } from './markdown.ts';

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
});

describe('the generated reference', () => {
  const declared = (file: string) => ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest).statements;
  const namesOf = (file: string) =>
    declared(file).flatMap((statement) => {
      const { exportClause } = statement as ts.ExportDeclaration;
      return exportClause !== undefined && ts.isNamedExports(exportClause)
        ? exportClause.elements.map(({ name }) => name.text)
        : [];
    });

  it.each([
    ['src/index.ts', 'docs/api/volley.md'],
    ['src/server/index.ts', 'docs/api/volley/server.md'],
    ['src/tools/builtin/index.ts', 'docs/api/volley/tools.md'],
  ])('has every name of %s: if this fails, run npm run docs', (entry, page) => {
    const headings = new Set(
      read(page)
        .replaceAll('\\', '')
        .match(/^### .*$/gm),
    );
    const names = namesOf(entry);
    expect(names.length).toBeGreaterThan(0);
    expect(
      names.filter((name) => ![`### ${name}`, `### ${name}()`].some((one) => headings.has(one))),
    ).toEqual([]);
  });
});
