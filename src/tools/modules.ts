import { pathToFileURL } from 'node:url';
import { VolleyError } from '../core/errors.ts';
import { listText } from '../core/words.ts';
import { isTool, withCode } from './define-tool.ts';
import { findModules } from './find-modules.ts';
import { importFailureText } from './import-failure.ts';
import type { Tool } from './tool.ts';

/** A tool of a module, and where it was found. */
interface FoundTool {
  readonly tool: Tool;
  readonly file: string;
  readonly exportName: string;
}

/**
 * Loads the tools of a user's modules: `patterns` are paths or globs such as `./tools/*.mjs`, from `baseFolder`. Each
 * module is loaded once, one after the other. A tool is what `defineTool()` returns, exported as the default, by name
 * or in a list.
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

/** The same tool, found by path in another thread or process: its text alone would miss the rest of its module. */
function fromModule(tool: Tool, url: string, exportName: string): Tool {
  const isByPath = tool.code.kind === 'module';
  return tool.isolation === 'inline' || isByPath ? tool : withCode(tool, { kind: 'module', url, exportName });
}

async function toolsOf(file: string): Promise<FoundTool[]> {
  const { href: url } = pathToFileURL(file);
  const exported = Object.entries(await imported(file, url)).sort(defaultFirst);
  const seen = new Set<Tool>();
  const found: FoundTool[] = [];
  for (const [exportName, value] of exported) {
    for (const tool of Array.isArray(value) ? value : [value]) {
      // The same tool may well be exported by name and as the default.
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
  return `it exports no tools. It exports ${shown}; export what defineTool() returns, as the default, by name or in a list.`;
}

function kindText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list without tools';
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : `a ${typeof value}`;
  return 'name' in value && 'run' in value
    ? 'a definition that defineTool() was not called with'
    : 'an object';
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
