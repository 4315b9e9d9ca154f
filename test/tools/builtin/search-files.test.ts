import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileSettings } from '../../../src/tools/builtin/environment.ts';
import { searchFilesTool } from '../../../src/tools/builtin/search-files.ts';
import { call, environment, folder } from './support/file-tools.ts';

function searching(files: Readonly<Record<string, string | Buffer>>, settings: Partial<FileSettings> = {}) {
  const root = folder();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const tool = searchFilesTool(environment([root], { files: settings }));
  return (input: object, signal?: AbortSignal) => call(tool, input, signal);
}

describe('search_files by name', () => {
  it('finds files at any depth by name, or by path', async () => {
    const search = searching({ 'a.ts': '', 'src/b.ts': '', 'src/deep/c.ts': '', 'src/d.js': '' });
    expect(await search({ pattern: '*.ts' })).toEqual({
      path: '.',
      files: ['a.ts', 'src/b.ts', 'src/deep/c.ts'],
      truncated: false,
    });
    expect(await search({ pattern: 'src/**/*.ts' })).toMatchObject({ files: ['src/b.ts', 'src/deep/c.ts'] });
    expect(await search({ path: 'src', pattern: '*/c.*' })).toMatchObject({ files: ['src/deep/c.ts'] });
  });

  it('passes over .git and node_modules unless asked not to', async () => {
    const search = searching({ '.git/x': '', 'node_modules/m/x': '', 'a/node_modules/x': '', 'b/x': '' });
    expect(await search({})).toMatchObject({ files: ['b/x'] });
    expect((await search({ include_all: true })).files).toHaveLength(4);
  });

  it('gives at most as many as the limit and says that there are more', async () => {
    const files = { a: '', b: '', c: '' };
    expect(await searching(files, { maxEntries: 2 })({})).toMatchObject({
      files: ['a', 'b'],
      truncated: true,
    });
    expect(await searching(files, { maxEntries: 3 })({})).toMatchObject({ truncated: false });
  });
});

describe('search_files by text', () => {
  it('gives the lines that hold a text, with their numbers', async () => {
    const search = searching({ 'a.txt': 'one\ntwo\nthree two\r\n', 'b.txt': 'nothing', 'c.txt': 'two' });
    expect(await search({ text: 'two' })).toEqual({
      path: '.',
      files: ['a.txt', 'c.txt'],
      matches: [
        { path: 'a.txt', line: 2, text: 'two' },
        { path: 'a.txt', line: 3, text: 'three two' },
        { path: 'c.txt', line: 1, text: 'two' },
      ],
      files_searched: 3,
      files_skipped: 0,
      truncated: false,
    });
  });

  it('takes a text as it is, and a regular expression when told', async () => {
    const search = searching({ a: 'a.c\nabc\nxABC' });
    const lines = async (input: object) => (await search(input)).matches?.map(({ line }) => line);
    expect(await lines({ text: 'a.c' })).toEqual([1]);
    expect(await lines({ text: 'a.c', is_regex: true })).toEqual([1, 2]);
    expect(await lines({ text: 'ABC', case_sensitive: false })).toEqual([2, 3]);
    expect(await lines({ text: '^a[b-c]+$', is_regex: true, case_sensitive: false })).toEqual([2]);
  });

  it('shows the lines around a match', async () => {
    const search = searching({ a: '1\n2\n3\n4\n5\n6\n' });
    expect((await search({ text: '[35]', is_regex: true, context: 2 })).matches).toEqual([
      { path: 'a', line: 3, text: '3', before: ['1', '2'], after: ['4', '5'] },
      { path: 'a', line: 5, text: '5', before: ['3', '4'], after: ['6'] },
    ]);
  });

  it('passes over binary files', async () => {
    const search = searching({
      a: Buffer.from('word\n\0'),
      b: Buffer.from(`word\n${'x'.repeat(100_000)}\0`),
      c: 'word',
    });
    expect(await search({ text: 'word' })).toMatchObject({
      files: ['c'],
      files_searched: 1,
      files_skipped: 2,
    });
    expect((await search({ text: 'word' })).matches).toEqual([{ path: 'c', line: 1, text: 'word' }]);
  });

  it('counts lines and finds characters right across the borders of what is read at once', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `€${index}€`);
    const search = searching({ a: lines.join('\n') });
    for (const index of [0, 1, 2047, 9999, 19_999]) {
      expect((await search({ text: `€${index}€` })).matches).toEqual([
        { path: 'a', line: index + 1, text: `€${index}€` },
      ]);
    }
  });

  it('shows a part of a long line, and still finds what stands far behind in it', async () => {
    const search = searching({ a: `${'x'.repeat(100_000)} word` });
    const { matches } = await search({ text: 'word' });
    expect(matches).toHaveLength(1);
    expect(matches![0]!.line).toBe(1);
    expect(matches![0]!.text.length).toBeLessThanOrEqual(501);
  });

  it('stops at its limits on matches and on shown text, and says so', async () => {
    const files = { a: 'word\n'.repeat(10) };
    expect(await searching(files, { maxEntries: 4 })({ text: 'word' })).toMatchObject({
      matches: { length: 4 },
      truncated: true,
    });
    expect(await searching(files, { maxEntries: 10 })({ text: 'word' })).toMatchObject({
      matches: { length: 10 },
      truncated: false,
    });
    expect(await searching(files, { maxBytes: 12 })({ text: 'word' })).toMatchObject({
      matches: { length: 3 },
      truncated: true,
    });
  });

  it('answers an expression that would backtrack for ever', async () => {
    const search = searching({ a: `${'a'.repeat(5000)}!` });
    expect(await search({ text: '(a+)+$', is_regex: true })).toMatchObject({ matches: [], truncated: false });
  });

  it.each([
    [{ pattern: '[' }, '/pattern The pattern "[" is not valid'],
    [{ text: '(a)\\1', is_regex: true }, '/text'],
    [{ text: '' }, '/text'],
    [{ text: 'x'.repeat(1001) }, '/text'],
    [{ context: 11 }, '/context'],
    [{ regex: true }, 'regex'],
  ])('refuses the arguments %j', async (input, rule) => {
    await expect(searching({ a: '' })(input)).rejects.toThrow(rule);
  });

  it('stops when it is told to', async () => {
    const reason = new Error('stop');
    await expect(searching({ a: 'x' })({ text: 'x' }, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
