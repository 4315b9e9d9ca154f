import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import type { ToolCode, ToolRun } from './runner.ts';
import { evaluateSource } from './source-code.ts';

/** What can be sent to another thread or process. */
export type PortableCode = Exclude<ToolCode, { kind: 'function' }>;

/** Turns the code of a tool into a function, in the thread or process in which it is called. */
export async function loadCode(code: PortableCode, toolName: string): Promise<ToolRun> {
  return code.kind === 'source' ? evaluateSource(code.text, toolName) : await importTool(code, toolName);
}

async function importTool(
  { url, exportName }: Extract<ToolCode, { kind: 'module' }>,
  toolName: string,
): Promise<ToolRun> {
  const details = { toolName, url, exportName };
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(url)) as Record<string, unknown>;
  } catch (cause) {
    throw new VolleyError(
      'INVALID_MODULE',
      `The module ${url} of the tool "${toolName}" cannot be loaded: ${messageOf(cause)}`,
      details,
      { cause },
    );
  }
  const run = runIn(module[exportName], toolName);
  if (run !== undefined) return run;
  const names = Object.keys(module).join(', ');
  const found = Object.hasOwn(module, exportName)
    ? `is ${describe(module[exportName], toolName)}`
    : `does not exist; it has ${names === '' ? 'no exports' : names}`;
  throw new VolleyError(
    'INVALID_MODULE',
    `The export "${exportName}" of ${url} must be a function, a tool, or a list of tools with one named "${toolName}", but it ${found}.`,
    details,
  );
}

/** The function in an export: itself, the `run` of a tool, or that of the tool with this name in a list. */
function runIn(exported: unknown, toolName: string): ToolRun | undefined {
  if (typeof exported === 'function') return exported as ToolRun;
  if (typeof exported !== 'object' || exported === null) return undefined;
  if (Array.isArray(exported)) {
    const named = exported.find((item: unknown) => (item as { name?: unknown } | null)?.name === toolName);
    return named === undefined ? undefined : runIn(named, toolName);
  }
  const { run } = exported as { run?: unknown };
  return typeof run === 'function' ? (run.bind(exported) as ToolRun) : undefined;
}

function describe(exported: unknown, toolName: string): string {
  if (Array.isArray(exported)) return `a list without a tool "${toolName}" that has a function \`run\``;
  if (typeof exported === 'object' && exported !== null) return 'an object without a function `run`';
  return show(exported);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
