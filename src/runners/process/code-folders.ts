import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PortableCode } from '../load-code.ts';

/**
 * What must be readable so that Node can load a tool. Of a module that is its package and every `node_modules` above
 * it, where hoisted dependencies lie; of a text only the latter, seen from the folder in which it runs.
 */
export function codeFolders(code: PortableCode, workingFolder: string): string[] {
  if (code.kind === 'source') return modulesAbove(workingFolder);
  // Modules such as `data:` have no place.
  if (!code.url.startsWith('file:')) return [];
  return packageFolders(fileURLToPath(code.url));
}

/** Node with its package manager, where commands would not find it: below a home, for example. */
export function nodeFolders(): string[] {
  const folder = dirname(process.execPath);
  const modules = join(dirname(folder), 'lib/node_modules');
  return existsSync(join(modules, 'npm')) ? [folder, modules] : [process.execPath];
}

/** The package that a file belongs to, and every `node_modules` above it. */
export function packageFolders(file: string): string[] {
  // Node looks for dependencies from where a file really is, and it may be reached through a link.
  const starts = new Set([dirname(file), dirname(realpath(file))]);
  return [...new Set([...starts].flatMap((folder) => [packageOf(folder), ...modulesAbove(folder)]))];
}

function packageOf(folder: string): string {
  for (const candidate of upwards(folder)) {
    // Too much to show for the sake of a stray package.json.
    if (candidate === '/' || candidate === homedir()) break;
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return folder;
}

function modulesAbove(folder: string): string[] {
  return upwards(folder)
    .map((candidate) => join(candidate, 'node_modules'))
    .filter((candidate) => existsSync(candidate))
    .flatMap((candidate) => [candidate, ...sharedModules(candidate)]);
}

/** Where a `node_modules` leads that is a link, as in a second checkout. A tool could make a link to anywhere. */
function sharedModules(modules: string): string[] {
  const real = realpath(modules);
  return real !== modules && basename(real) === 'node_modules' ? [real] : [];
}

function upwards(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...upwards(parent)];
}

function realpath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
