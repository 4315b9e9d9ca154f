import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { BatchExecutor } from '../../src/batch/executor/batch-executor.ts';
import { defaultConfig, type VolleyConfig } from '../../src/config/config.ts';
import { userSecret, userSecretFile } from '../../src/config/user-secret.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import { builtinTools } from '../../src/tools/builtin/all.ts';
import type { ToolSet } from '../../src/tools/builtin/environment.ts';
import { readFileTool } from '../../src/tools/builtin/read-file.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { change } from '../store/support/raw.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-cache-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const TASKS = ['a.txt', 'b.txt'].map((path) => ({ id: path, function: 'read_file', params: { path } }));
/** `read_file` as it would be if it declared what it reads. */
const CACHED_READ_FILE: ToolSet = {
  toolsFor: (environment) => {
    const inner = readFileTool(environment);
    const tool = defineTool<{ path: string }>({
      name: 'read_file',
      readOnly: true,
      cache: ({ path }) => ({ files: [path] }),
      run: ({ path }, context) => inner.run!({ path, encoding: 'utf8' }, context),
    });
    return { tools: [tool as Tool], absent: new Map() };
  },
};
let runs = 0;

/** Reads two files as a process with this configuration would, and returns the results and how many were cached. */
async function read(folder: string, configure: (config: VolleyConfig) => VolleyConfig = (config) => config) {
  const config = configure(defaultConfig(folder));
  const store = await openStore(join(folder, '.volley/volley.db'));
  const coordinator = new ParallelToolCoordinator({ config });
  coordinator.register(CACHED_READ_FILE);
  const executor = new BatchExecutor({ coordinator, store });
  const batch = `b${++runs}`;
  try {
    const added = await executor.handle({ action: 'add_batch', batch, tasks: TASKS });
    if (!added.ok) return { refused: added.error?.code };
    await executor.handle({ action: 'start', batch, wait: true });
    const results = await store.results(batch, ['a.txt', 'b.txt']);
    const contents = [...results.values()].map((text) => JSON.parse(text).content);
    const codes = (await store.tasks(batch, { limit: 9 })).map(({ code }) => code);
    return { contents, codes, cached: (await store.batch(batch))?.cached };
  } finally {
    await executor.close();
    await store.close();
    await coordinator.close();
  }
}

function project(): { folder: string; file: string } {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'a.txt'), 'apple');
  writeFileSync(join(folder, 'b.txt'), 'berry');
  return { folder, file: join(folder, '.volley/volley.db') };
}

const RIGHT = { contents: ['apple', 'berry'], codes: [undefined, undefined] };

describe('a store that came with a repository', () => {
  it('cannot answer calls: what another user has cached is not believed', async () => {
    const { folder } = project();
    vi.stubEnv('XDG_CONFIG_HOME', temporaryFolder());
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await read(folder)).toEqual({ ...RIGHT, cached: 0 });
    expect(await read(folder)).toEqual({ ...RIGHT, cached: 2 });
    vi.stubEnv('XDG_CONFIG_HOME', temporaryFolder());
    expect(await read(folder)).toEqual({ ...RIGHT, cached: 0 });
    // The two do not replace each other's entries.
    expect(await read(folder)).toEqual({ ...RIGHT, cached: 2 });
  });

  it.each([
    ['another body', `UPDATE cache SET body = replace(CAST(body AS TEXT), 'apple', 'PWNED')`],
    [
      'a body of another call',
      `UPDATE cache SET body = (SELECT max(body) FROM cache), bytes = (SELECT max(bytes) FROM cache)`,
    ],
    [
      'the whole entry of another call',
      `UPDATE cache SET (body, signature, created_at) =
         (SELECT body, signature, created_at FROM cache other WHERE other.rowid <> cache.rowid)`,
    ],
    ['another time', 'UPDATE cache SET created_at = created_at + 1000'],
    ['no signature', `UPDATE cache SET signature = x''`],
    ['a body that is no JSON', `UPDATE cache SET body = '{', bytes = 1`],
    ['a body larger than it says', `UPDATE cache SET body = zeroblob(5000000), bytes = 1`],
  ])('cannot change what this user has cached: %s', async (_, sql) => {
    const { folder, file } = project();
    await read(folder);
    change(
      file,
      sql
        .replace(
          "replace(CAST(body AS TEXT), 'apple', 'PWNED')",
          "CAST(replace(CAST(body AS TEXT), 'apple', 'PWNED') AS BLOB)",
        )
        .replace("body = '{'", "body = x'7b'"),
    );
    const { contents, cached } = await read(folder);
    expect(contents).toEqual(RIGHT.contents);
    expect(cached).toBeLessThan(2);
    // The entries are replaced by right ones.
    expect(await read(folder)).toEqual({ ...RIGHT, cached: 2 });
  });
});

describe('a cached answer', () => {
  it('is not given for a function that is denied now', async () => {
    const { folder } = project();
    await read(folder);
    const deny = (config: VolleyConfig) => ({ ...config, tools: { ...config.tools, deny: ['read_*'] } });
    expect(await read(folder, deny)).toMatchObject({ refused: expect.any(String) });
  });

  it('is not given for a path that is outside the roots now', async () => {
    const { folder } = project();
    await read(folder);
    const elsewhere = (config: VolleyConfig) => ({
      ...config,
      tools: { ...config.tools, roots: [temporaryFolder(), folder] },
    });
    expect(await read(folder, elsewhere)).toMatchObject({ cached: 0, contents: [] });
  });

  it('depends on the limits under which it was computed', async () => {
    const { folder } = project();
    await read(folder);
    const short = (config: VolleyConfig) => ({ ...config, files: { ...config.files, maxBytes: 3 } });
    expect(await read(folder, short)).toMatchObject({ cached: 0, contents: ['app', 'ber'] });
  });
});

describe('the secret of the cache', () => {
  it('is made once, and only its owner can read it', () => {
    const file = userSecretFile({ XDG_CONFIG_HOME: join(temporaryFolder(), 'deep') });
    const secret = userSecret(file);
    expect(secret).toHaveLength(32);
    expect(userSecret(file)).toEqual(secret);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o077).toBe(0);
  });

  it('is not used if others can read it, or if it is broken; then nothing is cached', async () => {
    const home = temporaryFolder();
    vi.stubEnv('XDG_CONFIG_HOME', home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const file = userSecretFile();
    userSecret(file);
    chmodSync(file, 0o644);
    const { folder } = project();
    await read(folder);
    expect(await read(folder)).toEqual({ ...RIGHT, cached: 0 });
    chmodSync(file, 0o600);
    writeFileSync(file, '{"key":"00"}');
    await read(folder);
    expect(await read(folder)).toEqual({ ...RIGHT, cached: 0 });
  });

  it('is hidden from the file tools, even if the home folder is a root', async () => {
    const home = temporaryFolder();
    vi.stubEnv('XDG_CONFIG_HOME', home);
    onTestFinished(() => void vi.unstubAllEnvs());
    userSecret();
    const coordinator = new ParallelToolCoordinator({ config: defaultConfig(home) });
    coordinator.register(builtinTools());
    onTestFinished(() => coordinator.close());
    const call = { name: 'read_file', arguments: { path: 'volley/cache-key.json' } };
    expect(await coordinator.executeSingle(call)).toMatchObject({
      status: 'failed',
      error: { code: 'PATH_NOT_ALLOWED' },
    });
  });
});
