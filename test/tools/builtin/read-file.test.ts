import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFileTool } from '../../../src/tools/builtin/read-file.ts';
import { call, environment, folder } from './support/file-tools.ts';

function fileWith(content: string | Buffer, maxBytes?: number) {
  const root = folder();
  writeFileSync(join(root, 'a.txt'), content);
  const tool = readFileTool(environment([root], maxBytes === undefined ? {} : { files: { maxBytes } }));
  return (input: object = {}) => call(tool, { path: 'a.txt', ...input });
}

describe('read_file', () => {
  it('reads a whole file, by a relative path, an absolute one and through a link inside the root', async () => {
    const root = folder();
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, 'sub', 'a.txt'), 'grüße\n');
    symlinkSync('sub', join(root, 'link'));
    const tool = readFileTool(environment([root]));
    for (const path of ['sub/a.txt', './sub/../sub/a.txt', join(root, 'sub/a.txt'), 'link/a.txt']) {
      expect(await call(tool, { path })).toEqual({
        path,
        content: 'grüße\n',
        encoding: 'utf8',
        offset: 0,
        bytes: 8,
        total_bytes: 8,
        truncated: false,
      });
    }
  });

  it('reads in every root, a relative path from the first', async () => {
    const [first, second] = [folder(), folder()];
    writeFileSync(join(first, 'a.txt'), 'first');
    writeFileSync(join(second, 'a.txt'), 'second');
    const tool = readFileTool(environment([first, second]));
    expect(await call(tool, { path: 'a.txt' })).toMatchObject({ content: 'first' });
    expect(await call(tool, { path: join(second, 'a.txt') })).toMatchObject({ content: 'second' });
  });

  it('reads lines', async () => {
    const read = fileWith('one\ntwo\nthree\nfour');
    expect(await read({ start_line: 2, line_count: 2 })).toMatchObject({
      content: 'two\nthree\n',
      start_line: 2,
      line_count: 2,
      truncated: false,
      next_offset: 14,
    });
    expect(await read({ start_line: 4 })).toMatchObject({ content: 'four', line_count: 1 });
    expect(await read({ start_line: 9 })).toMatchObject({ content: '', line_count: 0, truncated: false });
    expect(await read({ line_count: 1 })).toMatchObject({ content: 'one\n', start_line: 1 });
    expect(await read({ line_count: 0 })).toMatchObject({ content: '', line_count: 0 });
  });

  it('finds lines far into a file without holding what stands before', async () => {
    const read = fileWith(`${'x'.repeat(99)}\n`.repeat(50_000), 1000);
    expect(await read({ start_line: 40_001, line_count: 2 })).toMatchObject({
      content: `${'x'.repeat(99)}\n`.repeat(2),
      offset: 4_000_000,
      truncated: false,
    });
  });

  it('cuts lines at the limit and says where to go on', async () => {
    const read = fileWith('aaaa\nbbbb\ncccc\n', 7);
    expect(await read({ start_line: 2 })).toMatchObject({
      content: 'bbbb\ncc',
      truncated: true,
      next_offset: 12,
    });
    expect(await read({ offset: 12 })).toMatchObject({ content: 'cc\n', truncated: false });
  });

  it('gives a text whole when it is read in parts of any size, characters of several bytes included', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\n'), minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 9 }),
        async (text, length) => {
          const read = fileWith(text);
          let whole = '';
          let offset: number | undefined = 0;
          while (offset !== undefined) {
            const part: { content: string; next_offset?: number } = await read({ offset, length });
            whole += part.content;
            offset = part.next_offset;
          }
          expect(whole).toBe(text);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('gives bytes as base64', async () => {
    const read = fileWith(Buffer.from([0, 1, 2, 250, 251, 252]));
    expect(await read({ encoding: 'base64', offset: 1, length: 3 })).toMatchObject({
      content: Buffer.from([1, 2, 250]).toString('base64'),
      bytes: 3,
      total_bytes: 6,
      truncated: false,
      next_offset: 4,
    });
  });

  it.each([
    ['bytes that are not UTF-8', Buffer.from([0x61, 0xff, 0x62])],
    ['NUL characters', Buffer.from('a\0b')],
    ['a character that is cut off at the end', Buffer.from('é').subarray(0, 1)],
  ])('says that a file with %s must be read as base64', async (_, content) => {
    await expect(fileWith(content)()).rejects.toMatchObject({
      message: expect.stringMatching(/"a\.txt".*"base64"/),
      retryable: false,
    });
  });

  it('never takes more than the limit from a large file', async () => {
    const root = folder();
    writeFileSync(join(root, 'huge'), '');
    truncateSync(join(root, 'huge'), 2 ** 33);
    const tool = readFileTool(environment([root]));
    const result = await call(tool, { path: 'huge', encoding: 'base64', offset: 4_000_000_000 });
    expect(result).toMatchObject({ bytes: 1_000_000, total_bytes: 2 ** 33, truncated: true });
  });

  it.each([
    [{ offset: 1, start_line: 1 }, 'not both'],
    [{ start_line: 1, encoding: 'base64' }, 'lines work only for text'],
    [{ start_line: 0 }, '/start_line'],
    [{ length: -1 }, '/length'],
    [{ path: '' }, '/path'],
    [{ lines: 3 }, 'lines'],
  ])('refuses the arguments %j', async (input, rule) => {
    await expect(fileWith('x')(input)).rejects.toThrow(rule);
  });

  it('says what is wrong with a path that leads to no file, and that trying again is no use', async () => {
    const root = folder();
    const tool = readFileTool(environment([root]));
    writeFileSync(join(root, 'a'), '');
    await expect(call(tool, { path: 'no.txt' })).rejects.toMatchObject({
      message: expect.stringContaining('"no.txt"'),
      retryable: false,
    });
    await expect(call(tool, { path: '.' })).rejects.toThrow('"."');
    await expect(call(tool, { path: 'a/b' })).rejects.toThrow('"a/b"');
  });

  it('stops when it is told to', async () => {
    const root = folder();
    writeFileSync(join(root, 'a.txt'), 'x');
    const reason = new Error('stop');
    const tool = readFileTool(environment([root]));
    await expect(call(tool, { path: 'a.txt' }, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
