import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PortableCode } from '../load-code.ts';

/**
 * The folders Node must read to load a tool. For a module: its package and every `node_modules` above it, for hoisted
 * dependencies. For source code: only the latter, starting at its working directory.
 */
export function codeFolders(code: PortableCode, workingFolder: string): string[] {
  if (code.kind === 'source') return modulesAbove(workingFolder);
  // Modules such as `data:` have no path.
  if (!code.url.startsWith('file:')) return [];
  return packageFolders(fileURLToPath(code.url));
}

/** Node with its package manager, if commands would not find it, e.g. below a home folder. */
export function nodeFolders(): string[] {
  const folder = dirname(process.execPath);
  const modules = join(dirname(folder), 'lib/node_modules');
  return existsSync(join(modules, 'npm')) ? [folder, modules] : [process.execPath];
}

/** The package of a file, and every `node_modules` above it. */
export function packageFolders(file: string): string[] {
  // Node resolves dependencies from a file's real path, and it may be reached through a link.
  const starts = new Set([dirname(file), dirname(realpath(file))]);
  return [...new Set([...starts].flatMap((folder) => [packageOf(folder), ...modulesAbove(folder)]))];
}

function packageOf(folder: string): string {
  for (const candidate of upwards(folder)) {
    // Too much to expose because of a stray package.json.
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

/** The target of a linked `node_modules`, as in a second checkout. A tool could create a link to anywhere. */
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
