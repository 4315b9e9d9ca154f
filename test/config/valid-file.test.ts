import { join } from 'node:path';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { loadConfig, loadStorePlace } from '../../src/config/load.ts';
import { SECTIONS } from '../../src/config/schema.ts';
import { settingsOfValidFile } from '../../src/config/valid-file.ts';
import { configSchema } from '../../src/config/zod-schema.ts';
import { folderWith } from './support/folder.ts';

function settingsOf(text: string) {
  const folder = folderWith({ 'volley.toml': text });
  return settingsOfValidFile(join(folder, 'volley.toml'), folder);
}

describe('a file that is looked at section by section', () => {
  it('means the same as to the whole schema', async () => {
    const sections = Object.keys(SECTIONS);
    const some = `[engine]\ngrace_ms = 10\n[limits.tools.shell]\nmax_concurrency = 2\n[mcp.servers.files]\ncommand = "x"\n`;
    const all = sections.map((name) => `[${name}]\n`).join('');
    for (const text of [some, all, ''])
      expect((await settingsOf(text))?.settings).toEqual(configSchema().parse(parse(text)));
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

describe('the place of the store', () => {
  it.each([
    ['is the default without a file', undefined, {}],
    ['is the default where the file does not say it', '[limits]\nmax_concurrency = 3', {}],
    ['is relative to the folder of the file', '[store]\nfile = "here/v.db"', {}],
    ['is the default of an empty section', '[store]', {}],
    ['is what the environment says', '[store]\nfile = "here/v.db"', { VOLLEY_STORE_FILE: '/there/v.db' }],
  ])('%s, also for who looks at nothing else', async (_, text, env) => {
    const cwd = folderWith(text === undefined ? {} : { 'volley.toml': text });
    expect((await loadStorePlace({ cwd, env })).file).toBe(
      (await loadConfig({ cwd, env })).config.store.file,
    );
  });

  it.each([
    ['[stor]\nfile = "x"', 'unknown key stor'],
    ['[store]\npath = "x"', 'unknown key store.path'],
    ['[store]\nfile = ""', 'store.file must'],
    ['[store]\nfile = 5', 'store.file must'],
    ['store = 5', 'store must'],
    ['[store', 'not valid TOML'],
  ])('is not guessed: %s', async (text, words) => {
    const cwd = folderWith({ 'volley.toml': text });
    await expect(loadStorePlace({ cwd, env: {} })).rejects.toThrow(words);
  });

  it('is found though another section is wrong', async () => {
    const cwd = folderWith({ 'volley.toml': '[store]\nfile = "v.db"\n[limits]\nmax_concurrency = -1' });
    expect((await loadStorePlace({ cwd, env: {} })).file).toBe(join(cwd, 'v.db'));
  });
});
