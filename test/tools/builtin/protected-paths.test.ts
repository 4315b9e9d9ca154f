import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultConfig, type VolleyConfig } from '../../../src/config/config.ts';
import { environmentOf, RunnerSet } from '../../../src/coordinator/runner-set.ts';
import { Roots } from '../../../src/tools/builtin/roots.ts';
import { writeFileTool } from '../../../src/tools/builtin/write-file.ts';
import { call, environment, folder } from './support/file-tools.ts';

const PROTECTED = { code: 'PATH_PROTECTED', retryable: false };

interface Changes {
  readonly modules?: readonly string[];
  readonly roots?: readonly string[];
  readonly store?: string;
}

/** `write_file` as the coordinator makes it for a configuration in this folder. */
function writer(home: string, { modules = [], roots = [home], store }: Changes = {}) {
  const defaults = defaultConfig(home);
  const config: VolleyConfig = {
    ...defaults,
    tools: { ...defaults.tools, modules, roots },
    ...(store !== undefined && { store: { ...defaults.store, file: join(home, store) } }),
  };
  const settings = environmentOf(config, new RunnerSet(config));
  const tool = writeFileTool(settings);
  return (path: string) => call(tool, { path, content: 'x', create_directories: true });
}

describe('write_file does not write to what Volley itself reads and runs', () => {
  it.each([
    ['the configuration', 'volley.toml', {}],
    ['the configuration, as a folder', 'volley.toml/a', {}],
    ['the configuration, by a longer way', 'a/../volley.toml', {}],
    ['the store', '.volley/volley.db', {}],
    ['what stands next to the store', '.volley/new/a.txt', {}],
    ['a store in another place', 'data/my batches.db', { store: 'data/my batches.db' }],
    ['the log of a store', 'data/my batches.db-wal', { store: 'data/my batches.db' }],
    ['a module', 'a.mjs', { modules: ['a.mjs'] }],
    ['a module whose name looks like a glob', 'tools/[a].mjs', { modules: ['tools/[a].mjs'] }],
    ['what stands next to a module', 'src/b.mjs', { modules: ['src/a.mjs'] }],
    ['the configuration of another folder', 'sub/volley.toml', {}],
    ['a module to come', 'tools/new.mjs', { modules: ['./tools/*.mjs'] }],
    ['what modules import', 'tools/lib/a.json', { modules: ['./tools/*.mjs'] }],
    ['a module at the top', 'new.mjs', { modules: ['*.mjs'] }],
    ['a module at any depth', 'a/b/new.mjs', { modules: ['**/*.mjs'] }],
  ])('%s: %s', async (_, path, changes: Changes) => {
    const home = folder();
    await expect(writer(home, changes)(path)).rejects.toMatchObject(PROTECTED);
    for (const name of [path, '.volley', 'tools', 'data']) expect(existsSync(join(home, name))).toBe(false);
  });

  it('through a link, in either direction', async () => {
    const home = folder();
    for (const name of ['tools', 'real']) mkdirSync(join(home, name));
    writeFileSync(join(home, 'real', 'volley.toml'), 'old');
    symlinkSync('real/volley.toml', join(home, 'volley.toml'));
    symlinkSync('tools', join(home, 'link'));
    const write = writer(home, { modules: ['tools/*.mjs'] });
    for (const path of ['link/a.mjs', 'link/new/a.mjs', 'volley.toml', 'real/volley.toml'])
      await expect(write(path)).rejects.toMatchObject(PROTECTED);
    expect(readFileSync(join(home, 'real', 'volley.toml'), 'utf8')).toBe('old');
  });

  it('also where the way there is changed after the check', async () => {
    const home = folder();
    for (const name of ['tools/sub', 'way/sub']) mkdirSync(join(home, name), { recursive: true });
    class Swapping extends Roots {
      override open(path: string, flags: number, named: string): Promise<FileHandle> {
        if (!existsSync(join(home, 'moved'))) {
          renameSync(join(home, 'way'), join(home, 'moved'));
          symlinkSync('tools', join(home, 'way'));
        }
        return super.open(path, flags, named);
      }
    }
    const roots = new Swapping([home], undefined, {
      protects: (path) =>
        path.startsWith(join(home, 'tools'))
          ? { pattern: 'tools', why: 'it is a test', isOwn: true }
          : undefined,
      hides: () => false,
    });
    const tool = writeFileTool(environment([home]), roots);
    await expect(call(tool, { path: 'way/sub/a.mjs', content: 'x' })).rejects.toMatchObject(PROTECTED);
    expect(readdirSync(join(home, 'tools', 'sub'))).toEqual([]);
  });

  it('but to everything else, also next to it', async () => {
    const home = folder();
    const write = writer(home, { modules: ['*.mjs', 'src/a.mjs'], store: 'data/b.db' });
    for (const path of ['a.txt', 'sub/a.mjs', 'sub/volley.md', 'data/a.csv', 'data/b.dbs', '.volleyball'])
      expect(await write(path)).toMatchObject({ created: true });
  });

  it('where a root holds the modules: to what is none', async () => {
    const home = folder();
    mkdirSync(join(home, 'tools'));
    const write = writer(home, { modules: ['tools/*.mjs'], roots: [join(home, 'tools')] });
    await expect(write('a.mjs')).rejects.toMatchObject(PROTECTED);
    expect(await write('a.txt')).toMatchObject({ created: true });
  });
});
