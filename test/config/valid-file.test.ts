import { join } from 'node:path';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { SECTIONS } from '../../src/config/sections/load.ts';
import { settingsOfValidFile } from '../../src/config/valid-file.ts';
import { folderWith } from './support/folder.ts';

function settingsOf(text: string) {
  const folder = folderWith({ 'volley.toml': text });
  return settingsOfValidFile(join(folder, 'volley.toml'), folder);
}

describe('a file that is looked at section by section', () => {
  it('means the same as to the whole schema', async () => {
    const sections = Object.keys(SECTIONS);
    expect(sections).toEqual(Object.keys(configSchema.shape));
    const some = `[engine]\ngrace_ms = 10\n[limits.tools.shell]\nmax_concurrency = 2\n[mcp.servers.files]\ncommand = "x"\n`;
    const all = sections.map((name) => `[${name}]\n`).join('');
    for (const text of [some, all, ''])
      expect(await settingsOf(text)).toEqual(configSchema.parse(parse(text)));
  });

  it.each([
    ['an unknown section', '[engin]'],
    ['a section that is no table', 'engine = 3'],
    ['an unknown key', '[engine]\ngrace = 1'],
    ['a wrong value', '[engine]\ngrace_ms = -1'],
    ['a root that is not there', '[tools]\nroots = ["nowhere"]'],
    ['a wrong syntax', '[engine'],
    ['a name of every object', '[toString]'],
  ])('is left to the whole schema with %s', async (_, text) => {
    expect(await settingsOf(text)).toBeUndefined();
  });
});
