import { createHash, randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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

/** Compiles them, unless that was done since they last changed. */
export function buildRunners(): Promise<string> {
  return buildLayers(LAYERS);
}

/** Compiles layers into a folder of their own. */
export function buildLayers(layers: readonly string[]): Promise<string> {
  return buildOnce(layers, async (folder, files) => {
    await Promise.all(files.map((file) => compile(file, folder)));
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "version": "0.0.0" }');
  });
}

/** Builds layers, or single files, unless that was done since they last changed; returns the folder. */
export async function buildOnce(
  layers: readonly string[],
  build: (folder: string, files: readonly string[]) => Promise<void>,
): Promise<string> {
  const files = (await Promise.all(layers.map(filesIn))).flat();
  const stamps = await Promise.all(
    files.map(async (file) => `${file} ${(await stat(join(SOURCES, file))).mtimeMs}`),
  );
  const state = [build.toString(), ...stamps].join('\n');
  const folder = join(CACHE, createHash('sha256').update(state).digest('hex').slice(0, 16));
  if (await isInUse(folder)) return folder;
  // Another test may build the same, also in this process.
  const unfinished = `${folder}-${process.pid}-${randomBytes(4).toString('hex')}`;
  await mkdir(unfinished, { recursive: true });
  await build(unfinished, files);
  // Another test may have been quicker.
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

async function compile(file: string, folder: string): Promise<void> {
  const target = join(folder, file);
  await mkdir(dirname(target), { recursive: true });
  if (!file.endsWith('.ts')) return cp(join(SOURCES, file), target);
  const text = await readFile(join(SOURCES, file), 'utf8');
  await writeFile(target.replace(/\.ts$/, '.js'), await compiled(text, file));
}

/** TypeScript as JavaScript. The compiler is only loaded where something has changed. */
export async function compiled(text: string, fileName: string): Promise<string> {
  const { default: ts } = await import('typescript');
  return ts.transpileModule(text, {
    fileName,
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  }).outputText;
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
