import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWith, say } from './support/program.ts';

const TRY = 'Try: volley run volley-example.json\n';

describe('volley init', () => {
  it('writes what is missing, leaves what is there, and says which is which', async () => {
    const own = '[limits]\nmax_concurrency = 3\n';
    const folder = folderWith({ 'volley.toml': own });
    expect(await say(folder, ['init'])).toEqual({
      status: 0,
      stdout: `Wrote volley-example.json. Left volley.toml as found. ${TRY}`,
      stderr: '',
    });
    expect(readFileSync(join(folder, 'volley.toml'), 'utf8')).toBe(own);
    expect(await say(folder, ['init'])).toMatchObject({
      status: 0,
      stdout: `Left volley.toml and volley-example.json as found. ${TRY}`,
    });
    const { stdout } = await say(folder, ['init', '--json']);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      written: [],
      kept: ['volley.toml', 'volley-example.json'],
    });
  });
});
