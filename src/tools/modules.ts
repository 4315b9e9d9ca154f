import { readdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import picomatch from 'picomatch';
import { VolleyError } from '../core/errors.ts';
import { listText } from '../core/words.ts';
import { isTool, withCode, withSource } from './define-tool.ts';
import { importFailureText } from './import-failure.ts';
import type { Tool } from './tool.ts';

/** A pattern that visits more entries than this was not meant for modules. */
const MAX_ENTRIES = 20_000;
const SKIPPED_FOLDERS = new Set(['node_modules', '.git']);

/** The files that the patterns match, in the order of the patterns, then of their paths, without duplicates. */
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
  // A literal path comes first, because its name may look like a glob.
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
  // Without `**` a pattern matches files at one depth, so deeper folders need not be read.
  const maxDepth = glob.includes('**') ? Number.POSITIVE_INFINITY : glob.split('/').length - 1;
  const files: string[] = [];
  let seen = 0;
  const walk = async (inside: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, inside), { withFileTypes: true }).catch(() => []);
    seen += entries.length;
    if (seen > MAX_ENTRIES) {
      throw invalidPattern(pattern, `it visits more than ${MAX_ENTRIES} entries`);
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

/** Follows links. */
export async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

function invalidPattern(pattern: string, problem: string): VolleyError {
  return new VolleyError('INVALID_MODULE', `The modules ${JSON.stringify(pattern)}: ${problem}.`, {
    pattern,
  });
}

/** A tool of a module, and where it was found. */
interface FoundTool {
  readonly tool: Tool;
  readonly file: string;
  readonly exportName: string;
}

/**
 * Loads the tools of a user's modules: `patterns` are paths or globs such as `./tools/*.mjs`, relative to `baseFolder`.
 * Each module is loaded once, one after the other. A tool is the result of `defineTool()`, exported as the default, by
 * name or in a list.
 */
export async function loadToolModules(patterns: readonly string[], baseFolder: string): Promise<Tool[]> {
  const byName = new Map<string, FoundTool>();
  for (const file of await findModules(patterns, baseFolder)) {
    for (const found of await toolsOf(file)) {
      const { name } = found.tool;
      const other = byName.get(name);
      if (other !== undefined) throw duplicate(name, other, found);
      byName.set(name, found);
    }
  }
  return [...byName.values()].map(({ tool }) => tool);
}

/**
 * The same tool with its module. In another thread or process it is found by path: its source alone would lack the rest
 * of its module.
 */
function fromModule(tool: Tool, url: string, exportName: string): Tool {
  const isByPath = tool.code.kind === 'module';
  const found =
    tool.isolation === 'inline' || isByPath ? tool : withCode(tool, { kind: 'module', url, exportName });
  return withSource(found, url);
}

async function toolsOf(file: string): Promise<FoundTool[]> {
  const { href: url } = pathToFileURL(file);
  const exported = Object.entries(await imported(file, url)).sort(defaultFirst);
  const seen = new Set<Tool>();
  const found: FoundTool[] = [];
  for (const [exportName, value] of exported) {
    for (const tool of Array.isArray(value) ? value : [value]) {
      // The same tool may be exported both by name and as the default.
      if (!isTool(tool) || seen.has(tool)) continue;
      seen.add(tool);
      found.push({ tool: fromModule(tool, url, exportName), file, exportName });
    }
  }
  if (found.length === 0) throw invalidModule(file, noToolsText(exported));
  return found;
}

function defaultFirst([a]: [string, unknown], [b]: [string, unknown]): number {
  if (a === b) return 0;
  if (a === 'default' || b === 'default') return a === 'default' ? -1 : 1;
  return a < b ? -1 : 1;
}

async function imported(file: string, url: string): Promise<Record<string, unknown>> {
  try {
    return await import(url);
  } catch (error) {
    throw invalidModule(file, await importFailureText(error, file), error);
  }
}

function noToolsText(exported: readonly [string, unknown][]): string {
  const names = exported.map(([name, value]) => `${name} (${kindText(value)})`);
  const shown = names.length === 0 ? 'nothing' : listText(names.slice(0, 10), names.length);
  return `it exports no tools. It exports ${shown}; export the result of defineTool(), as the default, by name or in a list.`;
}

function kindText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list without tools';
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : `a ${typeof value}`;
  return 'name' in value && 'run' in value ? 'a definition without defineTool()' : 'an object';
}

function duplicate(name: string, first: FoundTool, second: FoundTool): VolleyError {
  const where = ({ file, exportName }: FoundTool) => `${file} (${exportName})`;
  return new VolleyError(
    'DUPLICATE_TOOL',
    `Two tools have the name ${name}: one of ${where(first)}, one of ${where(second)}. Rename one of them.`,
    { name, files: [first.file, second.file] },
  );
}

function invalidModule(file: string, problem: string, cause?: unknown): VolleyError {
  return new VolleyError('INVALID_MODULE', `The module ${file}: ${problem}`, { file }, { cause });
}
