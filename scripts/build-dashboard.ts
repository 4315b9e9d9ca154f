import { createHash } from 'node:crypto';
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/volley-tests');
/** The page uses some modules of these layers, too. */
const SOURCES = ['web', 'src/core', 'src/cli/drawing', 'src/cli/output', 'src/agents', 'package-lock.json'];

/**
 * The folder of the dashboard as the tests use it: built anew where its sources have changed, and apart from `dist`, so that
 * no build is disturbed.
 */
export async function buildDashboard(): Promise<string> {
  const stamps = (await Promise.all(SOURCES.map((source) => stampsOf(join(ROOT, source))))).flat();
  const folder = join(
    CACHE,
    `web-${createHash('sha256').update(stamps.join('\n')).digest('hex').slice(0, 16)}`,
  );
  // What is used counts as new: tests remove from this cache what is old.
  const now = new Date();
  const isThere = await utimes(folder, now, now).then(
    () => true,
    () => false,
  );
  if (isThere) return folder;
  const unfinished = `${folder}-${process.pid}`;
  await build(unfinished);
  // Another run may have been quicker.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
  return folder;
}

async function build(outDir: string): Promise<void> {
  const vite = await import('vite');
  const mode = process.env['NODE_ENV'];
  // Vitest sets it to "test", which would make this a build for development.
  process.env['NODE_ENV'] = 'production';
  try {
    await vite.build({ root: join(ROOT, 'web'), logLevel: 'warn', build: { outDir, emptyOutDir: true } });
  } finally {
    if (mode === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = mode;
  }
}

/** `path time` of each file. */
async function stampsOf(path: string): Promise<string[]> {
  const { mtimeMs } = await stat(path);
  const names = await readdir(path).catch(() => undefined);
  if (names === undefined) return [`${path} ${mtimeMs}`];
  return (await Promise.all(names.sort().map((name) => stampsOf(join(path, name))))).flat();
}
