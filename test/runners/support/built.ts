import { createHash, randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ParallelExecutionEngine } from '../../../src/index.ts';
import type { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import type { ProcessRunner } from '../../../src/runners/process/process-runner.ts';

/** What tests of processes use of the built package. */
export interface Built {
  readonly folder: string;
  readonly ParallelExecutionEngine: typeof ParallelExecutionEngine;
  readonly ProcessRunner: typeof ProcessRunner;
  readonly createLauncher: typeof createLauncher;
}

const SOURCES = fileURLToPath(new URL('../../../src/', import.meta.url));
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/volley-tests/', import.meta.url));
const KEPT_MS = 24 * 3_600_000;
const LAYERS = ['core', 'engine', 'runners'];
/** What decides on the result of a build besides its sources. */
const BUILDERS = [
  '../scripts/bundle.ts',
  '../test/e2e/support/built-program.ts',
  '../test/runners/support/built.ts',
];

/** The layers up to the runners as JavaScript: a process that needs no compiler of its own starts six times faster. */
export async function importBuilt(): Promise<Built> {
  const folder = await buildRunners();
  const load = (file: string) => import(/* @vite-ignore */ pathToFileURL(join(folder, file)).href);
  const [engine, runner, launcher] = await Promise.all([
    load('engine/engine.js'),
    load('runners/process/process-runner.js'),
    load('runners/process/helper-launcher.js'),
  ]);
  return { folder, ...engine, ...runner, ...launcher };
}

/** Compiles them file by file, unless that was done since they last changed. */
export function buildRunners(): Promise<string> {
  return buildOnce(LAYERS, async (folder, files) => {
    const { compileModules } = await import('../../../scripts/bundle.ts');
    const sources = files.filter((file) => file.endsWith('.ts'));
    await compileModules(sources, folder);
    for (const file of files) if (!sources.includes(file)) await cp(join(SOURCES, file), join(folder, file));
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "version": "0.0.0" }');
  });
}

/** Builds layers, unless that was done since they last changed; returns the folder. The set-up of the tests does it first. */
export async function buildOnce(
  layers: readonly string[],
  build: (folder: string, files: readonly string[]) => Promise<void>,
): Promise<string> {
  const files = (await Promise.all(layers.map(filesIn))).flat();
  const stamps = await Promise.all(
    [...BUILDERS, ...files].map(async (file) => `${file} ${(await stat(join(SOURCES, file))).mtimeMs}`),
  );
  const folder = join(CACHE, createHash('sha256').update(stamps.join('\n')).digest('hex').slice(0, 16));
  if (await isInUse(folder)) return folder;
  // Another run may build the same.
  const unfinished = `${folder}-${process.pid}-${randomBytes(4).toString('hex')}`;
  await mkdir(unfinished, { recursive: true });
  await build(unfinished, files);
  // Another run may have been quicker.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
  await removeOld();
  return folder;
}

/** What nobody has used for long. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(CACHE)) {
    // Another test may have finished, and renamed, what it built.
    const found = await stat(join(CACHE, name)).catch(() => undefined);
    if (found === undefined || Date.now() - found.mtimeMs < KEPT_MS) continue;
    await rm(join(CACHE, name), { recursive: true, force: true });
  }
}

async function filesIn(layer: string): Promise<string[]> {
  if (layer.endsWith('.ts')) return [layer];
  const entries = await readdir(join(SOURCES, layer), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(SOURCES.length))
    .sort();
}

/** Whether it is there; if so, it counts as new, so that nobody removes it from under those who use it. */
async function isInUse(folder: string): Promise<boolean> {
  const now = new Date();
  return utimes(folder, now, now).then(
    () => true,
    () => false,
  );
}
