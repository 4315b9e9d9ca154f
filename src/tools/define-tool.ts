import { checkAmounts, checkNames, neededLocks } from '../core/demand.ts';
import { internalError, VolleyError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import { checkNumber, checkSpanMs, show } from '../core/numbers.ts';
import { priorityLevel } from '../core/priority.ts';
import { checkQuotas } from '../core/quota.ts';
import { retryPolicy } from '../core/retry.ts';
import { isObject } from '../core/values.ts';
import type { RunLimits, ToolCode, ToolRun } from '../runners/runner.ts';
import { cacheProblem, filesProblem } from './cache-inputs.ts';
import { checkNeeds } from './needs.ts';
import { compileSchema, type ToolSchema } from './schema.ts';
import type { ResultWith, ReturnableBy, SchemaInput, SchemaOutput } from './schema-types.ts';
import type { InferredToolDefinition, Isolation, Tool, ToolDefinition } from './tool.ts';

const NAME = /^[A-Za-z_][\w.-]{0,127}$/;
const ISOLATIONS: readonly Isolation[] = ['inline', 'thread', 'process'];
const FIELDS = new Set<string>(
  `name description input output resources priority conflictsWith idempotent readOnly dedupe cache files isolation timeoutMs
  stallMs retry limits env limitedAs quota unrepeatable run module exportName`.split(/\s+/),
);
/** Limits that only another process can enforce. */
const PROCESS_LIMITS = ['memoryMb', 'cpuMs', 'openFiles', 'processes', 'outputBytes'] as const;
const LIMITS = new Set<string>([...PROCESS_LIMITS, 'resultBytes']);

/** A global symbol, so that tools of another copy of Volley are recognized: a user's module may bring its own. */
const BRAND = Symbol.for('volley.tool');

/**
 * Describes a tool, and checks the description: a mistake is found here, not at the first call. The schemas determine
 * the types of its input and result; a JSON Schema does if it is written as a literal. This form is for types that are
 * given, as in `defineTool<Input, Result>({ … })`.
 *
 * ```ts
 * const resize = defineTool({
 *   name: 'resize',
 *   input: z.object({ path: z.string() }),
 *   isolation: 'process',
 *   resources: { cpu: 1, memoryMb: 300 },
 *   run: async ({ path }, { report, signal }) => { … },
 * });
 * ```
 */
export function defineTool<I = never, O = unknown>(
  definition: [I] extends [never] ? never : ToolDefinition<NoInfer<I>, O>,
): Tool<I, O>;
/** Without an input schema, the function determines the type of the input. */
export function defineTool<I, const Out extends ToolSchema | undefined, R extends ReturnableBy<Out>>(
  definition: InferredToolDefinition<I, undefined, Out, R>,
): Tool<I, ResultWith<Out, R>>;
/** With one, the schema does. */
export function defineTool<
  const In extends ToolSchema,
  const Out extends ToolSchema | undefined,
  R extends ReturnableBy<Out>,
>(
  definition: InferredToolDefinition<SchemaOutput<In>, In, Out, R>,
): Tool<SchemaOutput<In>, ResultWith<Out, R>, SchemaInput<In>>;
export function defineTool<I, O>(given: unknown): Tool<I, O> {
  const definition = given as ToolDefinition<I, O>;
  if (typeof definition !== 'object' || definition === null)
    throw new VolleyError('INVALID_TOOL', `A tool is defined by an object, but this is ${show(definition)}.`);
  const { name } = definition;
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new VolleyError(
      'INVALID_TOOL',
      `A tool name must be 1 to 128 letters, digits, "_", "-" or ".", starting with a letter or "_", but it is ${show(name)}.`,
    );
  }
  try {
    return branded(checked(definition));
  } catch (error) {
    if (!(error instanceof VolleyError) || error.code === 'INVALID_TOOL') throw error;
    throw new VolleyError('INVALID_TOOL', `Tool ${name}: ${error.message}`, error.details);
  }
}

/** Whether a value was created by {@link defineTool}. */
export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/** The same tool with its code elsewhere; see `ToolCode`. */
export function withCode(tool: Tool, code: ToolCode): Tool {
  return branded({ ...tool, code });
}

/** The same tool, found in a module. */
export function withSource(tool: Tool, source: string): Tool {
  return branded({ ...tool, source });
}

/** A placeholder for a tool that is not loaded yet; `later` loads the tool itself. */
export function placeholderFor(name: string, limitedAs: string, later: () => Promise<Tool>): Tool {
  const run = () => {
    throw internalError(`The placeholder of ${name} was run`);
  };
  return branded({ ...defineTool({ name, limitedAs, resources: () => ({}), run }), later });
}

function branded<T extends object>(tool: T): T {
  return Object.freeze(Object.defineProperty(tool, BRAND, { value: true }));
}

function checked<I, O>(definition: ToolDefinition<I, O>): Tool<I, O> {
  const { name, isolation = 'inline', readOnly = false, resources, conflictsWith = [] } = definition;
  const { priority, timeoutMs, stallMs, retry, limits = {}, env = [] } = definition;
  const { description = '', limitedAs, quota, unrepeatable = false, cache, files } = definition;
  for (const field of Object.keys(definition))
    if (!FIELDS.has(field)) failUnknown(name, field, 'field of a tool', FIELDS);
  if (typeof description !== 'string')
    fail(name, `description must be a string, but it is ${show(description)}`);
  if (!ISOLATIONS.includes(isolation))
    fail(name, `isolation must be inline, thread or process, but it is ${show(isolation)}`);
  if (resources !== undefined && typeof resources !== 'function') {
    const needs = checkNeeds(name, resources);
    checkAmounts(needs);
    neededLocks(needs);
  }
  if (priority !== undefined) priorityLevel(priority);
  checkNames('conflictsWith', conflictsWith);
  checkNames('env', env);
  if (typeof unrepeatable !== 'boolean') fail(name, 'unrepeatable must be true or false');
  if (limitedAs !== undefined) checkNames('limitedAs', [limitedAs]);
  if (typeof quota !== 'function') checkQuotas(quota, name);
  checkSpanMs('timeoutMs', timeoutMs);
  checkSpanMs('stallMs', stallMs);
  retryPolicy(retry);
  checkCache(name, cache, readOnly);
  checkFiles(name, files, isolation);
  checkLimits(name, limits, isolation);

  const flag = (field: 'readOnly' | 'idempotent' | 'dedupe'): boolean => {
    const { [field]: value = readOnly } = definition;
    return typeof value === 'boolean' ? value : fail(name, `${field} must be true or false`);
  };
  flag('readOnly');
  return {
    name,
    description,
    input: compileSchema(definition.input, 'input', name),
    output: definition.output === undefined ? undefined : compileSchema(definition.output, 'output', name),
    resources,
    priority,
    conflictsWith: [...conflictsWith],
    readOnly,
    idempotent: flag('idempotent'),
    dedupe: flag('dedupe'),
    cache,
    files,
    isolation,
    timeoutMs,
    stallMs,
    retry,
    unrepeatable,
    limits,
    env: [...env],
    limitedAs,
    quota,
    code: codeOf(definition, isolation),
    ...('run' in definition && { run: definition.run }),
  };
}

function checkCache(name: string, cache: unknown, readOnly: unknown): void {
  if (cache === undefined) return;
  // It says itself which calls change nothing.
  if (typeof cache === 'function') return;
  if (readOnly !== true) fail(name, 'cache is only for tools that change nothing: set readOnly to true');
  const problem = cacheProblem(cache);
  if (problem !== undefined) fail(name, problem);
}

function checkFiles(name: string, files: unknown, isolation: Isolation): void {
  if (files === undefined) return;
  if (isolation === 'thread') fail(name, 'files is only for tools that run in a process or inline');
  if (typeof files === 'function') return;
  const problem = filesProblem(files);
  if (problem !== undefined) fail(name, problem);
}

function failUnknown(name: string, field: string, kind: string, known: ReadonlySet<string>): never {
  const close = nearest(field, known);
  const help = close === undefined ? '' : `; did you mean "${close}"?`;
  return fail(name, `"${field}" is not a ${kind}${help}`, { field, nearest: close });
}

function checkLimits(name: string, limits: RunLimits, isolation: Isolation): void {
  if (!isObject(limits))
    fail(name, `limits must be an object such as { memoryMb: 256 }, but it is ${show(limits)}`);
  for (const [limit, value] of Object.entries(limits)) {
    if (!LIMITS.has(limit)) failUnknown(name, limit, 'limit', LIMITS);
    if (value !== undefined) checkNumber(`limits.${limit}`, value, { min: 1, max: Number.MAX_SAFE_INTEGER });
  }
  if (isolation === 'process') return;
  for (const limit of PROCESS_LIMITS) {
    if (limits[limit] !== undefined) {
      fail(name, `limits.${limit} can be enforced only in a process: set isolation to "process"`);
    }
  }
}

function codeOf<I, O>(definition: ToolDefinition<I, O>, isolation: Isolation): ToolCode {
  const { name } = definition;
  if ('module' in definition) {
    if ('run' in definition) fail(name, 'give either run or module, not both');
    const { exportName = 'default' } = definition;
    if (typeof exportName !== 'string' || exportName === '')
      fail(name, `exportName must be the name of an export, but it is ${show(exportName)}`);
    return { kind: 'module', url: moduleUrl(name, definition.module), exportName };
  }
  const { run } = definition;
  if (typeof run !== 'function') fail(name, `run must be a function, but it is ${show(run)}`);
  if (isolation === 'inline') return { kind: 'function', run: run as ToolRun };
  const text = Function.prototype.toString.call(run);
  // Native and bound functions have no source that could be evaluated elsewhere.
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) {
    fail(name, `run is a bound or native function, which cannot be sent to a ${isolation}: give a module`);
  }
  return { kind: 'source', text };
}

function moduleUrl(name: string, module: unknown): string {
  const url = module instanceof URL ? module.href : module;
  if (typeof url === 'string' && /^(file|data|node):/.test(url)) return url;
  return fail(
    name,
    `module must be a file URL, such as new URL('./tool.mjs', import.meta.url), but it is ${show(url)}`,
  );
}

function fail(name: string, problem: string, details: object = {}): never {
  throw new VolleyError('INVALID_TOOL', `Tool ${name}: ${problem}.`, { tool: name, ...details });
}
