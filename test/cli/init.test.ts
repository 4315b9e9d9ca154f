import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWith, say } from './support/program.ts';

const TRY = 'Try: volley run volley-example.json\n';

describe('volley init', () => {
  it.each([
    [
      'of the package that a folder above has installed',
      'node_modules/volley/docs/',
      '../node_modules/volley/docs/',
    ],
    [
      'of the program itself where none is installed',
      'elsewhere/',
      new URL('../../docs/', import.meta.url).href,
    ],
  ])('names the schema %s, for editors', async (_, place, address) => {
    const folder = folderWith({ [`${place}volley.schema.json`]: '{}', 'inside/a.txt': '' });
    await say(join(folder, 'inside'), ['init']);
    const [first] = readFileSync(join(folder, 'inside/volley.toml'), 'utf8').split('\n');
    expect(first).toBe(`#:schema ${address}volley.schema.json`);
  });

  it('writes a file that asks for nothing that would have to be approved', async () => {
    const folder = folderWith();
    await say(folder, ['init']);
    const { stdout } = await say(folder, ['doctor', '--json']);
    expect((JSON.parse(stdout) as { trust: object }).trust).toEqual({ status: 'not-needed', waiting: [] });
  });

  it('writes what is missing, leaves what is there, and says which is which', async () => {
    const own = '[limits]\nmax_concurrency = 3\n';
    const folder = folderWith({ 'volley.toml': own });
    expect(await say(folder, ['init'])).toEqual({
      status: 0,
      stdout: `Wrote volley-example.json. Kept the existing volley.toml. ${TRY}`,
      stderr: '',
    });
    expect(readFileSync(join(folder, 'volley.toml'), 'utf8')).toBe(own);
    expect(await say(folder, ['init'])).toMatchObject({
      status: 0,
      stdout: `Kept the existing volley.toml and volley-example.json. ${TRY}`,
    });
    const { stdout } = await say(folder, ['init', '--json']);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      written: [],
      kept: ['volley.toml', 'volley-example.json'],
    });
  });
});
