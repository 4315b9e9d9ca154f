import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listDirectoryTool } from '../../../src/tools/builtin/list-directory.ts';
import { call, environment, folder } from './support/file-tools.ts';

function tree(...paths: readonly string[]): string {
  const root = folder();
  for (const path of paths) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), path);
  }
  return root;
}

const paths = ({ entries }: { entries: readonly { path: string }[] }) => entries.map(({ path }) => path);

describe('list_directory', () => {
  it('gives type and size of each entry, sorted by name', async () => {
    const root = tree('b.txt', 'a.txt', '.hidden', 'sub/c.txt');
    symlinkSync('a.txt', join(root, 'link'));
    expect(await call(listDirectoryTool(environment([root])), {})).toEqual({
      path: '.',
      entries: [
        { path: '.hidden', type: 'file', size: 7 },
        { path: 'a.txt', type: 'file', size: 5 },
        { path: 'b.txt', type: 'file', size: 5 },
        { path: 'link', type: 'symlink' },
        { path: 'sub', type: 'directory' },
      ],
      truncated: false,
      unreadable: 0,
    });
  });

  it('goes as deep as it is told', async () => {
    const tool = listDirectoryTool(environment([tree('a/b/c/d.txt', 'a/x.txt', 'z.txt')]));
    expect(paths(await call(tool, { recursive: true }))).toEqual([
      'a',
      'a/b',
      'a/b/c',
      'a/b/c/d.txt',
      'a/x.txt',
      'z.txt',
    ]);
    expect(paths(await call(tool, { recursive: true, depth: 2 }))).toEqual(['a', 'a/b', 'a/x.txt', 'z.txt']);
    expect(paths(await call(tool, { depth: 2 }))).toEqual(['a', 'z.txt']);
    expect(paths(await call(tool, { path: 'a/b', recursive: true }))).toEqual(['a/b/c', 'a/b/c/d.txt']);
  });

  it('gives only what a glob matches, by name or by path', async () => {
    const tool = listDirectoryTool(environment([tree('a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/d.js')]));
    const matching = async (glob: string) => paths(await call(tool, { recursive: true, glob }));
    expect(await matching('*.ts')).toEqual(['a.ts', 'src/b.ts', 'src/deep/c.ts']);
    expect(await matching('src/*.{ts,js}')).toEqual(['src/b.ts', 'src/d.js']);
  });

  it('lists at most as many as the limit and says that there is more', async () => {
    const root = tree('a', 'b', 'c/d', 'c/e');
    const listing = (maxEntries: number) =>
      call(listDirectoryTool(environment([root], { files: { maxEntries } })), { recursive: true });
    expect(await listing(3)).toMatchObject({
      entries: [{ path: 'a' }, { path: 'b' }, { path: 'c' }],
      truncated: true,
    });
    expect(await listing(5)).toMatchObject({ truncated: false });
  });

  it('does not go round in circles', async () => {
    const root = tree('sub/a.txt');
    symlinkSync('..', join(root, 'sub', 'up'));
    const tool = listDirectoryTool(environment([root]));
    expect(paths(await call(tool, { recursive: true }))).toEqual(['sub', 'sub/a.txt', 'sub/up']);
  });

  it('says that it is cut where folders are nested too deep', async () => {
    const root = tree(`${'d/'.repeat(40)}a.txt`);
    const { entries, truncated } = await call(listDirectoryTool(environment([root])), { recursive: true });
    expect([entries.length, truncated]).toEqual([32, true]);
  });

  it('does not show files that are just being written', async () => {
    const root = tree('a.txt', '.volley-0123456789abcdef.tmp');
    expect(paths(await call(listDirectoryTool(environment([root])), {}))).toEqual(['a.txt']);
  });

  it('says what is wrong with a path that is no folder', async () => {
    const tool = listDirectoryTool(environment([tree('a.txt')]));
    await expect(call(tool, { path: 'a.txt' })).rejects.toMatchObject({
      message: expect.stringContaining('"a.txt"'),
      retryable: false,
    });
    await expect(call(tool, { path: 'no' })).rejects.toThrow('"no"');
    await expect(call(tool, { glob: '[' })).rejects.toThrow('/glob');
  });

  it('stops when it is told to', async () => {
    const reason = new Error('stop');
    const tool = listDirectoryTool(environment([tree('a.txt')]));
    await expect(call(tool, {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
