import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts';
import { readingProblem } from '../../src/config/problems.ts';
import { watchConfig } from '../../src/config/watch.ts';
import { folderWith } from './support/folder.ts';

const text = (max: number) => `[limits]\nmax_concurrency = ${max}\n`;

/** A watched file, with everything that was heard of it, one after the other. */
async function watched(folder: string) {
  const current = await loadConfig({ cwd: folder, env: {} });
  const heard: unknown[] = [];
  let wake = () => {};
  const hear = (what: unknown) => {
    heard.push(what);
    wake();
  };
  const start = (from: LoadedConfig = current) => {
    const watch = watchConfig(from, (loaded, change) => hear({ loaded, change }), hear, { env: {} });
    onTestFinished(() => watch.close());
    return watch;
  };
  const nextRaw = async () => {
    while (heard.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return heard.shift();
  };
  /** The next that is heard: the limit of a configuration, or the error. */
  const next = async () => {
    const first = await nextRaw();
    return first instanceof Error
      ? first
      : (first as { loaded: LoadedConfig }).loaded.config.limits.maxConcurrency;
  };
  return { start, nextRaw, next, heard, file: join(folder, 'volley.toml') };
}

describe('a file that is watched', () => {
  it('is read again when it is written, and the change is named', async () => {
    const { start, nextRaw, next, file } = await watched(folderWith({ 'volley.toml': text(1) }));
    start();
    writeFileSync(file, `${text(2)}[threads]\nmax = 99`);
    expect(await nextRaw()).toMatchObject({
      change: { live: ['limits.max_concurrency'], restart: ['threads.max'], limits: { maxConcurrency: 2 } },
    });
    writeFileSync(file, text(3));
    expect(await next()).toBe(3);
  });

  it('is read again when an editor replaces it by another file, each time', async () => {
    const folder = folderWith({ 'volley.toml': text(1) });
    const { start, next, file } = await watched(folder);
    start();
    for (const max of [2, 3, 4]) {
      writeFileSync(join(folder, '.volley.toml.swp'), text(max));
      renameSync(join(folder, '.volley.toml.swp'), file);
      expect(await next()).toBe(max);
    }
  });

  it('is read again when it is removed and comes back', async () => {
    const { start, next, file } = await watched(folderWith({ 'volley.toml': text(1) }));
    start();
    rmSync(file);
    const error = await next();
    expect(error).toMatchObject({
      code: 'INVALID_CONFIG',
      details: { file, problems: [{ text: readingProblem({ code: 'ENOENT' }) }] },
    });
    writeFileSync(file, text(2));
    expect(await next()).toBe(2);
  });

  it('is followed through a link that is set to another file', async () => {
    const folder = folderWith({ 'one/volley.toml': text(1), 'two/volley.toml': text(2), 'use/x': '' });
    symlinkSync('../one/volley.toml', join(folder, 'use/volley.toml'));
    const { start, next } = await watched(join(folder, 'use'));
    start();
    writeFileSync(join(folder, 'one/volley.toml'), text(5));
    expect(await next()).toBe(5);
    symlinkSync('../two/volley.toml', join(folder, 'use/new'));
    renameSync(join(folder, 'use/new'), join(folder, 'use/volley.toml'));
    expect(await next()).toBe(2);
    writeFileSync(join(folder, 'two/volley.toml'), text(6));
    expect(await next()).toBe(6);
  });

  it('that is not valid changes nothing, is reported once, and counts again when it is mended', async () => {
    const folder = folderWith({ 'volley.toml': text(1) });
    const { start, next, heard, file } = await watched(folder);
    start();
    writeFileSync(file, text(0));
    const error = await next();
    expect((error as Error).message).toContain('limits.max_concurrency');
    mkdirSync(join(folder, 'unrelated'));
    writeFileSync(file, text(7));
    expect(await next()).toBe(7);
    expect(heard).toEqual([]);
  });

  it('that was changed after it was loaded and before it was watched is read at once', async () => {
    const { start, next, file } = await watched(folderWith({ 'volley.toml': text(1) }));
    writeFileSync(file, text(2));
    start();
    expect(await next()).toBe(2);
  });

  it('hands an error of the caller on to the caller', async () => {
    const folder = folderWith({ 'volley.toml': text(1) });
    const current = await loadConfig({ cwd: folder, env: {} });
    const errors: unknown[] = [];
    const watch = watchConfig(
      current,
      (loaded) => {
        throw new Error(`refused ${loaded.config.limits.maxConcurrency}`);
      },
      (error) => errors.push(error),
      { env: {} },
    );
    onTestFinished(() => watch.close());
    writeFileSync(join(folder, 'volley.toml'), text(2));
    await expect.poll(() => errors).toEqual([new Error('refused 2')]);
  });

  it('is let go: nothing is heard any more', async () => {
    const { start, heard, next, file } = await watched(folderWith({ 'volley.toml': text(1) }));
    const watch = start();
    writeFileSync(file, text(2));
    await next();
    writeFileSync(file, text(3));
    watch.close();
    watch.close();
    const other = start();
    expect(await next()).toBe(3);
    other.close();
    expect(heard).toEqual([]);
  });

  it.runIf(existsSync('/proc/self/fdinfo'))('leaves no watch of the system behind', async () => {
    const { start, next, file } = await watched(folderWith({ 'volley.toml': text(1) }));
    const before = systemWatches();
    const watch = start();
    writeFileSync(file, text(2));
    await next();
    expect(systemWatches()).toBe(before + 1);
    watch.close();
    expect(systemWatches()).toBe(before);
  });

  it('need not exist', async () => {
    const current = await loadConfig({ cwd: folderWith(), env: {} });
    const fail = () => expect.fail('nothing can be heard');
    watchConfig(current, fail, fail).close();
  });

  it('keeps no process alive', async () => {
    const folder = folderWith({ 'volley.toml': text(1) });
    const module = (name: string) =>
      JSON.stringify(new URL(`../../src/config/${name}`, import.meta.url).href);
    const program = `
      const { loadConfig } = await import(${module('load.ts')});
      const { watchConfig } = await import(${module('watch.ts')});
      watchConfig(await loadConfig({ cwd: ${JSON.stringify(folder)}, env: {} }), () => {}, console.error);
      console.log('watching');
    `;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', program],
      { cwd: new URL('../../', import.meta.url), timeout: 150_000 },
    );
    expect({ stdout, stderr }).toEqual({ stdout: 'watching\n', stderr: '' });
  });
});

/** How many watches this process has, as Linux tells it. */
function systemWatches(): number {
  const texts = readdirSync('/proc/self/fdinfo').map((name) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${name}`, 'utf8');
    } catch {
      return ''; // The one through which the folder itself was read.
    }
  });
  return texts.join('').split('inotify wd:').length - 1;
}
