import {
  chmodSync,
  chownSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Roots } from '../../../src/tools/builtin/roots.ts';
import { writeFileTool } from '../../../src/tools/builtin/write-file.ts';
import { call, environment, folder, REFUSED_PATH } from './support/file-tools.ts';

const READ_BY_ALL = 0o100644;

describe('write_file', () => {
  it('makes a file, then replaces it, and leaves nothing else behind', async () => {
    const root = folder();
    const tool = writeFileTool(environment([root]));
    expect(await call(tool, { path: 'a.txt', content: 'grüße' })).toEqual({
      path: 'a.txt',
      bytes: 7,
      created: true,
    });
    expect(statSync(join(root, 'a.txt')).mode).toBe(READ_BY_ALL & ~process.umask());
    expect(await call(tool, { path: 'a.txt', content: '' })).toEqual({
      path: 'a.txt',
      bytes: 0,
      created: false,
    });
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('');
    expect(readdirSync(root)).toEqual(['a.txt']);
  });

  it('writes bytes that are given as base64', async () => {
    const root = folder();
    const content = Buffer.from([0, 255, 1]).toString('base64');
    await call(writeFileTool(environment([root])), { path: 'a', content, encoding: 'base64' });
    expect([...readFileSync(join(root, 'a'))]).toEqual([0, 255, 1]);
  });

  it('keeps the mode of a file that it replaces, but not the right to run as its owner', async () => {
    const root = folder();
    writeFileSync(join(root, 'run.sh'), 'old');
    chmodSync(join(root, 'run.sh'), 0o4751);
    await call(writeFileTool(environment([root])), { path: 'run.sh', content: 'new' });
    expect(statSync(join(root, 'run.sh')).mode & 0o7777).toBe(0o751);
    expect(readFileSync(join(root, 'run.sh'), 'utf8')).toBe('new');
  });

  it.runIf(process.getuid?.() === 0)('keeps the owner of a file that it replaces, if it may', async () => {
    const root = folder();
    writeFileSync(join(root, 'a'), 'old');
    chownSync(join(root, 'a'), 1234, 2345);
    await call(writeFileTool(environment([root])), { path: 'a', content: 'new' });
    expect(statSync(join(root, 'a'))).toMatchObject({ uid: 1234, gid: 2345 });
  });

  it('writes to the file that a link inside the root leads to, and leaves the link', async () => {
    const root = folder();
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, 'sub', 'real'), 'old');
    symlinkSync('sub/real', join(root, 'link'));
    await call(writeFileTool(environment([root])), { path: 'link', content: 'new' });
    expect(readFileSync(join(root, 'sub', 'real'), 'utf8')).toBe('new');
    expect(readdirSync(root)).toEqual(['link', 'sub']);
  });

  it('makes missing folders only if asked to', async () => {
    const root = folder();
    const tool = writeFileTool(environment([root]));
    await expect(call(tool, { path: 'a/b/c.txt', content: 'x' })).rejects.toThrow('"a/b/c.txt"');
    expect(readdirSync(root)).toEqual([]);
    await call(tool, { path: 'a/b/c.txt', content: 'x', create_directories: true });
    await call(tool, { path: 'a/b/d.txt', content: 'y', create_directories: true });
    expect(readdirSync(join(root, 'a', 'b'))).toEqual(['c.txt', 'd.txt']);
  });

  it('makes the same folders for many calls at once', async () => {
    const root = folder();
    const tool = writeFileTool(environment([root]));
    const paths = Array.from({ length: 20 }, (_, index) => `a/b/c/${index}.txt`);
    await Promise.all(paths.map((path) => call(tool, { path, content: path, create_directories: true })));
    expect(readdirSync(join(root, 'a/b/c'))).toHaveLength(20);
  });

  it.each([
    [{ content: 'x'.repeat(11) }, '/content must be at most 10 bytes'],
    [{ content: '€€€€' }, '/content must be at most 10 bytes'],
    [{ content: 'no base64!', encoding: 'base64' }, '/content must be base64'],
    [{ content: 'abc', encoding: 'base64' }, '/content must be base64'],
    [{ content: 1 }, '/content'],
    [{ content: 'x', append: true }, 'append'],
  ])('refuses the arguments %j', async (input, rule) => {
    const tool = writeFileTool(environment([folder()], { files: { maxBytes: 10 } }));
    await expect(call(tool, { path: 'a', ...input })).rejects.toThrow(rule);
  });

  it('refuses to replace a folder', async () => {
    const root = folder();
    mkdirSync(join(root, 'a'));
    await expect(call(writeFileTool(environment([root])), { path: 'a', content: '' })).rejects.toMatchObject({
      message: expect.stringContaining('"a"'),
      retryable: false,
    });
  });

  /** Does something when the temporary file has just been made. */
  class Interrupting extends Roots {
    interrupt: (handle: FileHandle) => void = () => {};
    override async open(path: string, flags: number, named: string): Promise<FileHandle> {
      const handle = await super.open(path, flags, named);
      if (path.includes('.volley-')) this.interrupt(handle);
      return handle;
    }
  }

  it.each([['a new file'], ['a file for its owner only']])(
    'lets nobody else read the content before the mode is right: %s',
    async (kind) => {
      const root = folder();
      const isNew = kind === 'a new file';
      if (!isNew) writeFileSync(join(root, 'a'), 'old', { mode: 0o600 });
      const roots = new Interrupting([root]);
      let modeAtFirst: number | undefined;
      roots.interrupt = (handle) => {
        modeAtFirst = fstatSync(handle.fd).mode & 0o777;
      };
      await call(writeFileTool(environment([root]), roots), { path: 'a', content: 'new' });
      expect(modeAtFirst).toBe(0o600);
      expect(statSync(join(root, 'a')).mode & 0o777).toBe(isNew ? 0o666 & ~process.umask() : 0o600);
    },
  );

  it.each(['.volley-0123456789abcdef.tmp', '.volley-0123456789abcdef.tmp/a.txt'])(
    'refuses a name that listings hide: %s',
    async (path) => {
      const root = folder();
      const tool = writeFileTool(environment([root]));
      const input = { path, content: 'x', create_directories: true };
      await expect(call(tool, input)).rejects.toMatchObject(REFUSED_PATH);
      expect(readdirSync(root)).toEqual([]);
    },
  );

  it('leaves the old content and no temporary file when it is aborted on the way', async () => {
    const root = folder();
    writeFileSync(join(root, 'a'), 'old');
    const controller = new AbortController();
    const roots = new Interrupting([root]);
    roots.interrupt = () => controller.abort(new Error('stop'));
    const tool = writeFileTool(environment([root]), roots);
    await expect(call(tool, { path: 'a', content: 'new' }, controller.signal)).rejects.toThrow();
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('old');
    expect(readdirSync(root)).toEqual(['a']);
  });

  it('leaves the old content and no temporary file when writing fails', async () => {
    const root = folder();
    writeFileSync(join(root, 'a'), 'old');
    const roots = new Interrupting([root]);
    roots.interrupt = (handle) => {
      handle.sync = () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }));
    };
    const tool = writeFileTool(environment([root]), roots);
    await expect(call(tool, { path: 'a', content: 'new' })).rejects.toMatchObject({
      message: expect.stringContaining('"a"'),
      retryable: true,
    });
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('old');
    expect(readdirSync(root)).toEqual(['a']);
  });

  it('never shows a reader a part of the content', async () => {
    const root = folder();
    const path = join(root, 'a');
    const contents = ['a', 'b'].map((letter) => letter.repeat(300_000));
    writeFileSync(path, contents[0]!);
    const tool = writeFileTool(environment([root]));
    let isWriting = true;
    const writing = (async () => {
      for (let round = 0; round < 10; round++) await call(tool, { path: 'a', content: contents[round % 2] });
    })().finally(() => {
      isWriting = false;
    });
    while (isWriting) {
      expect(contents.includes(readFileSync(path, 'utf8'))).toBe(true);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
  });
});
