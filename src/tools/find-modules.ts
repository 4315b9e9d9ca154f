import { readdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import picomatch from 'picomatch';
import { VolleyError } from '../core/errors.ts';

/** A pattern that leads through more entries than this was not meant for modules. */
const MAX_ENTRIES = 20_000;
const SKIPPED_FOLDERS = new Set(['node_modules', '.git']);

/** The files that the patterns name, in the order of the patterns, then of their paths; each once. */
export async function findModules(patterns: readonly string[], baseFolder: string): Promise<string[]> {
  const files = new Map<string, string>();
  for (const pattern of patterns) {
    for (const file of await filesOf(pattern, baseFolder)) {
      // A module is loaded once, by its real path, however many links lead to it.
      const real = await realpath(file);
      if (!files.has(real)) files.set(real, file);
    }
  }
  return [...files.values()];
}

async function filesOf(pattern: string, baseFolder: string): Promise<string[]> {
  const exact = resolve(baseFolder, pattern);
  // A path is taken as it stands first, for its name may hold what a glob gives a meaning to.
  const found = await stat(exact).catch(() => undefined);
  if (found?.isFile()) return [exact];
  const { base, glob, isGlob } = picomatch.scan(pattern);
  if (!isGlob) {
    const problem = found?.isDirectory()
      ? `${exact} is a folder: name its files, such as "${pattern.replace(/\/$/, '')}/*.mjs"`
      : `there is no file ${exact}`;
    throw invalidPattern(pattern, problem);
  }
  const folder = resolve(baseFolder, base);
  const files = await matchingFiles(pattern, folder, glob);
  if (files.length === 0) throw invalidPattern(pattern, `no file in ${folder} matches it`);
  return files.sort();
}

async function matchingFiles(pattern: string, folder: string, glob: string): Promise<string[]> {
  const matches = picomatch(glob);
  // Without `**` a pattern names files at one depth, so nothing below that needs to be read.
  const maxDepth = glob.includes('**') ? Number.POSITIVE_INFINITY : glob.split('/').length - 1;
  const files: string[] = [];
  let seen = 0;
  const walk = async (inside: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, inside), { withFileTypes: true }).catch(() => []);
    seen += entries.length;
    if (seen > MAX_ENTRIES) {
      throw invalidPattern(pattern, `it leads through more than ${MAX_ENTRIES} entries`);
    }
    for (const entry of entries) {
      const path = inside === '' ? entry.name : `${inside}/${entry.name}`;
      if (entry.isDirectory()) {
        if (depth < maxDepth && !SKIPPED_FOLDERS.has(entry.name)) await walk(path, depth + 1);
      } else if (matches(path) && (await isFile(join(folder, path)))) {
        files.push(join(folder, path));
      }
    }
  };
  await walk('', 0);
  return files;
}

/** Also through a link. */
async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

function invalidPattern(pattern: string, problem: string): VolleyError {
  return new VolleyError('INVALID_MODULE', `The modules ${JSON.stringify(pattern)}: ${problem}.`, {
    pattern,
  });
}
