import { join } from 'node:path';
import { constants, Script, type ScriptOptions } from 'node:vm';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import type { ToolCode, ToolRun } from './runner.ts';

/**
 * Helpers that build tools leave in a function's source: esbuild uses one to name functions, vite the other for
 * imports. Both are passed in, because the source no longer sees its module.
 */
const PROLOGUE =
  "'use strict'; ((__name, __vite_ssr_dynamic_import__) => PLACE)((it) => it, (name) => import(name))";
const [BEFORE, AFTER] = PROLOGUE.split('PLACE') as [string, string];

/** Evaluates the source of a function that uses nothing of its surroundings. */
function evaluateSource(text: string, toolName: string): ToolRun {
  // A nonexistent file in the working directory: `import()` in the source resolves from there.
  const filename = join(process.cwd(), `tool-${toolName}.source.js`);
  const run = evaluate(text, toolName, filename);
  const explain = (error: unknown) => explained(error, toolName, filename);
  return (input, context) => {
    try {
      const result = run(input, context);
      return isThenable(result)
        ? result.then(undefined, (error) => {
            throw explain(error);
          })
        : result;
    } catch (error) {
      throw explain(error);
    }
  };
}

function evaluate(text: string, toolName: string, filename: string): ToolRun {
  if (text.includes('import')) allowImports();
  let problem: string | undefined;
  // The source of a method, `run(input) { … }`, is a function only inside an object.
  for (const expression of [`(${text}\n)`, `Object.values({ ${text}\n })[0]`]) {
    try {
      const value: unknown = new Script(
        `${BEFORE}${expression}${AFTER}`,
        options(filename),
      ).runInThisContext();
      if (typeof value === 'function') return value as ToolRun;
      problem ??= `it is ${show(value)}`;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw explained(error, toolName, filename);
      problem ??= error.message;
    }
  }
  throw new VolleyError(
    'INVALID_TOOL',
    `The source of the tool "${toolName}" is not a function: ${problem}. Pass a function of your own, or a module.`,
    { toolName },
  );
}

function options(filename: string): ScriptOptions {
  const importModuleDynamically = constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  // Columns of the first line exclude our prefix, including `(`.
  const columnOffset = -BEFORE.length - 1;
  return importModuleDynamically === undefined
    ? { filename, columnOffset }
    : { filename, columnOffset, importModuleDynamically };
}

let importsAreAllowed = false;

/**
 * Node warns once per thread that imports from evaluated source are experimental. Users cannot do anything about it, so
 * the warning is triggered here, where it is suppressed.
 */
function allowImports(): void {
  if (importsAreAllowed) return;
  importsAreAllowed = true;
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    new Script(`import('node:path')`, options(join(process.cwd(), 'tool.js'))).runInThisContext();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** A missing name is most likely one of the module the function was written in. */
function explained(error: unknown, toolName: string, filename: string): unknown {
  if (!(error instanceof ReferenceError) || !isThrownBy(error, filename)) return error;
  const message = `${error.message}. The function of the tool "${toolName}" is sent as text and cannot see variables outside it: import what it uses inside it, or give \`module\` instead of \`run\`.`;
  const better = new ReferenceError(message);
  const frames = error.stack!.slice(error.stack!.indexOf('\n'));
  Object.defineProperty(better, 'stack', { value: `ReferenceError: ${message}${frames}` });
  return better;
}

/** Whether the innermost stack frame is in the source itself. */
function isThrownBy({ stack }: Error, filename: string): boolean {
  return /\n\s+at [^\n]*/.exec(stack ?? '')?.[0].includes(filename) ?? false;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** Code that can be sent to another thread or process. */
export type PortableCode = Exclude<ToolCode, { kind: 'function' }>;

/** Turns the code of a tool into a function, in the thread or process that calls it. */
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

/** The function in an export: the export itself, the `run` of a tool, or that of the named tool in a list. */
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
