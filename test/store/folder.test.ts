import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/sqlite-store.ts';

describe('the folder of a store', () => {
  it('is kept out of git where it is our own and new, and no other is', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'volley-store-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const open = async (name: string) => (await openStore(join(folder, name, 'volley.db'))).close();
    await open('.volley');
    await open('data');
    expect(await readFile(join(folder, '.volley/.gitignore'), 'utf8')).toBe('*\n');
    expect(await readdir(join(folder, 'data'))).toEqual(['volley.db']);
    await rm(join(folder, '.volley/.gitignore'));
    await open('.volley');
    expect(await readdir(join(folder, '.volley'))).toEqual(['volley.db']);
  });

  it.runIf(existsSync('/proc/self'))('that can be made nowhere is an error, not an endless try', () => {
    const module = JSON.stringify(new URL('../../src/store/sqlite-store.ts', import.meta.url));
    const program = `import(${module}).then((m) => m.openStore('/proc/volley/deep/volley.db')).catch((e) => console.log(e.code, e.message))`;
    const { stdout } = spawnSync(process.execPath, ['--import', 'tsx', '-e', program], { timeout: 150_000 });
    expect(stdout.toString()).toMatch(/^STORE_UNAVAILABLE .*\/proc\/volley\/deep\/volley\.db.*ENOENT/);
  });
});
