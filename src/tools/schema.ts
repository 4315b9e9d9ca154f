import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { Ajv as AjvInstance } from 'ajv';
import { isDeeperThan } from '../core/depth.ts';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import { isThenable } from '../core/values.ts';
import { reasonText, unwritableText } from '../core/words.ts';
import { SchemaThreadError, validateInThread } from './schema-threads.ts';
import { compileValidator, linearPattern, newAjv, type Validate } from './schema-validator.ts';

/** Both the check and the compiler are recursive. */
const MAX_DEPTH = 200;
/** In characters of JSON. The thread compiles this much in about a second. */
const MAX_SCHEMA = 262_144;
/** Schemas within these limits are checked and compiled in tens of milliseconds. */
const MAX_INLINE_SCHEMA = 4_000;
const MAX_INLINE_DEPTH = 20;
const MAX_INLINE_BRANCHES = 50;
/** Ajv generates the most code for these, per subschema. */
const BRANCHING = new Set([
  'anyOf',
  'oneOf',
  'allOf',
  'contains',
  'not',
  'if',
  'dependentSchemas',
  'dependencies',
  'propertyNames',
  'patternProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
]);
/** The maximum product of schema and value size that is validated in this thread: tens of milliseconds at worst. */
const MAX_INLINE_WORK = 100_000;
/** One in this many characters counts, if they are not inspected individually. */
const CHARACTERS_PER_UNIT = 64;
/** The only ajv-formats format with a superlinear expression. */
const SLOW_FORMAT = 'url';
const REFERENCES = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
/** Validates schemas, one per draft, created on demand: that takes tens of milliseconds. */
const schemaChecks = new Map<string, AjvInstance>();

/**
 * Prepares a JSON Schema; `part` and `tool` name its owner. It is checked now and compiled with the first value:
 * hundreds of tools may be known and few called.
 *
 * No schema can block this thread. A small one with known linear cost is used here; any other is compiled and used in a
 * thread, with a time limit. So is any schema for a large value.
 */
export function compileJsonSchema<T>(schema: JsonSchema, part: SchemaPart, tool: string): CompiledSchema<T> {
  const owner = `the ${part} of ${tool}`;
  if (isDeeperThan(schema, MAX_DEPTH))
    throw invalidSchema(owner, `it is nested deeper than ${MAX_DEPTH} levels`);
  const length = lengthOf(schema, owner);
  if (length > MAX_SCHEMA) throw invalidSchema(owner, `it has more than ${MAX_SCHEMA} characters`);
  const isInline =
    length <= MAX_INLINE_SCHEMA &&
    !isDeeperThan(schema, MAX_INLINE_DEPTH) &&
    branchesOf(schema) <= MAX_INLINE_BRANCHES;
  if (isInline) checkSchema(schema, owner);
  const answer = (value: unknown, issues: readonly SchemaIssue[]): CheckResult<T> =>
    issues.length === 0 ? { ok: true, value: value as T } : { ok: false, issues };
  let cost: SchemaCost | undefined;
  let validate: Validate | undefined;
  return {
    jsonSchema: schema,
    check: (value) => {
      cost ??= isInline ? costOf(schema, owner) : { isLinear: false };
      if (cost.isLinear && isSmall(value, MAX_INLINE_WORK / cost.units, cost.readsText)) {
        validate ??= compile(schema, owner);
        return answer(value, validate(value));
      }
      return validateInThread(tool, schema, value).then(
        (issues) => answer(value, issues),
        (error: unknown) => {
          throw threadFailure(error, owner, tool, cost!);
        },
      );
    },
  };
}

function lengthOf(schema: JsonSchema, owner: string): number {
  try {
    return JSON.stringify(schema).length;
  } catch (error) {
    throw invalidSchema(owner, unwritableText(error));
  }
}

function branchesOf(schema: JsonSchema): number {
  const open: unknown[] = [schema];
  let branches = 0;
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== 'object' || node === null) continue;
    for (const [key, value] of Object.entries(node)) {
      if (BRANCHING.has(key))
        branches += typeof value === 'object' && value !== null ? Math.max(1, Object.keys(value).length) : 1;
      open.push(value);
    }
  }
  return branches;
}

function checkSchema(schema: JsonSchema, owner: string): void {
  const draft = String(schema['$schema']);
  let ajv = schemaChecks.get(draft);
  if (ajv === undefined) {
    ajv = newAjv(schema);
    // `$schema` may be any string, but few values are valid.
    if (schemaChecks.size < 10) schemaChecks.set(draft, ajv);
  }
  let isValid: unknown;
  try {
    isValid = ajv.validateSchema(schema);
  } catch (error) {
    // Ajv does not know the `$schema`.
    throw invalidSchema(
      owner,
      `${(error as Error).message}; "$schema" may be draft-06, draft-07, 2019-09, 2020-12 or left out`,
    );
  }
  if (isValid !== true) throw invalidSchema(owner, ajv.errorsText(ajv.errors));
}

function compile(schema: JsonSchema, owner: string): Validate {
  try {
    return compileValidator(schema, { validateSchema: false });
  } catch (error) {
    throw invalidSchema(owner, (error as Error).message);
  }
}

/** The cost of a schema per unit of a value. */
type SchemaCost =
  | { readonly isLinear: false; readonly slowPattern?: string }
  | { readonly isLinear: true; readonly units: number; readonly readsText: boolean };

/**
 * A schema without references is a tree, and each node visits each part of a value at most once. References can reach
 * one node in very many ways, and `uniqueItems` compares all pairs of items.
 */
function costOf(schema: JsonSchema, owner: string): SchemaCost {
  const open: unknown[] = [schema];
  let units = 0;
  let readsText = false;
  const addPattern = (pattern: string): boolean => {
    const linear = patternOf(pattern, owner);
    units += linear?.size ?? 0;
    readsText = true;
    return linear !== undefined;
  };
  while (open.length > 0) {
    const node = open.pop();
    units++;
    if (typeof node !== 'object' || node === null) continue;
    // Also inside `properties` and `enum`, where it is not a keyword: that costs a thread, and nothing else.
    for (const [key, value] of Object.entries(node)) {
      if (REFERENCES.has(key) || (key === 'uniqueItems' && value === true)) return { isLinear: false };
      if (key === 'format' && value === SLOW_FORMAT) return { isLinear: false };
      if (key === 'format') readsText = true;
      const patterns =
        key === 'pattern' && typeof value === 'string'
          ? [value]
          : key === 'patternProperties' && typeof value === 'object' && value !== null
            ? Object.keys(value)
            : [];
      const slowPattern = patterns.find((pattern) => !addPattern(pattern));
      if (slowPattern !== undefined) return { isLinear: false, slowPattern };
      open.push(value);
    }
  }
  return { isLinear: true, units, readsText };
}

function patternOf(pattern: string, owner: string): ReturnType<typeof linearPattern> {
  try {
    return linearPattern(pattern);
  } catch (error) {
    throw invalidSchema(owner, reasonText(error));
  }
}

/** Whether a value has at most this many parts, including characters; stops counting there. */
function isSmall(value: unknown, maxUnits: number, readsText: boolean): boolean {
  const open: unknown[] = [value];
  const perUnit = readsText ? 1 : CHARACTERS_PER_UNIT;
  let units = 0;
  while (open.length > 0) {
    const node = open.pop();
    units += typeof node === 'string' ? 1 + node.length / perUnit : 1;
    if (units + open.length > maxUnits) return false;
    if (Array.isArray(node)) {
      if (node.length > maxUnits) return false;
      for (const item of node) open.push(item);
    } else if (typeof node === 'object' && node !== null) {
      for (const [key, item] of Object.entries(node)) {
        units += key.length / perUnit;
        open.push(item);
      }
    }
  }
  return true;
}

function threadFailure(error: unknown, owner: string, tool: string, cost: SchemaCost): unknown {
  if (!(error instanceof SchemaThreadError)) return error;
  if (error.kind === 'invalid') return invalidSchema(owner, error.message.replace(/\.$/, ''));
  const { slowPattern } = cost as { slowPattern?: string };
  const pattern = slowPattern === undefined ? '' : `, which has the pattern ${shown(slowPattern)}`;
  return new VolleyError(
    'SCHEMA_TOO_SLOW',
    `A value could not be checked against the JSON Schema of ${owner}${pattern}: ${error.message}.`,
    { tool, ...(slowPattern !== undefined && { pattern: slowPattern }) },
  );
}

function shown(pattern: string): string {
  return JSON.stringify(pattern.length > 200 ? `${pattern.slice(0, 200)}…` : pattern);
}

function invalidSchema(owner: string, problem: string): VolleyError {
  return new VolleyError('INVALID_TOOL', `The JSON Schema of ${owner} is not valid: ${problem}.`);
}

/** A JSON Schema (2020-12 unless `$schema` says otherwise). */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** How the input or output of a tool is described. */
export type ToolSchema<T = unknown> = StandardSchemaV1<unknown, T> | JsonSchema;

/** One violated rule. */
export interface SchemaIssue {
  /** A JSON pointer to the field, empty for the whole value. */
  readonly path: string;
  /** The rule in words, such as `must be a whole number`. */
  readonly rule: string;
}

/** A validator, whatever the schema was written in. */
export interface CompiledSchema<T = unknown, A = T> {
  /** Never set. Carries the type of the values that it accepts. */
  readonly '~accepts'?: A;
  /** For discovery; undefined if a Standard Schema cannot be converted to JSON Schema. */
  readonly jsonSchema: JsonSchema | undefined;
  /** The parsed value (a Standard Schema may change it), or the violated rules. */
  check(value: unknown): CheckResult<T> | Promise<CheckResult<T>>;
}

/** The result of validating a value. */
export type CheckResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** The schema of a tool without one. */
const ANYTHING: CompiledSchema = {
  jsonSchema: {},
  check: (value) => ({ ok: true, value }),
};

/** Whether a schema is a tool's input or output schema. */
type SchemaPart = 'input' | 'output';

/** Prepares a schema of a tool, or throws what is wrong with it. */
export function compileSchema<T>(
  schema: ToolSchema<T> | undefined,
  part: SchemaPart,
  tool: string,
): CompiledSchema<T> {
  if (schema === undefined) return ANYTHING as CompiledSchema<T>;
  const owner = `the ${part} of ${tool}`;
  if (
    (typeof schema !== 'object' && typeof schema !== 'function') ||
    schema === null ||
    Array.isArray(schema)
  )
    throw new VolleyError(
      'INVALID_TOOL',
      `The schema of ${owner} must be a Standard Schema (such as z.object({ … })) or a JSON Schema, but it is ${show(schema)}.`,
    );
  return isStandard(schema) ? compileStandardSchema(schema, owner) : compileJsonSchema<T>(schema, part, tool);
}

/** The violated rules on one line: `/path must be a string; /size is required`. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  const shown = issues.slice(0, 5).map(({ path, rule }) => `${path === '' ? 'the whole' : path} ${rule}`);
  const more = issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** A JSON pointer (RFC 6901) to a place inside a value. */
export function pointerTo(keys: readonly PropertyKey[]): string {
  return keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function isStandard<T>(schema: ToolSchema<T>): schema is StandardSchemaV1<unknown, T> {
  return '~standard' in schema;
}

function compileStandardSchema<T>(schema: StandardSchemaV1<unknown, T>, owner: string): CompiledSchema<T> {
  const standard = schema['~standard'];
  if (typeof (standard as Partial<typeof standard> | null)?.validate !== 'function') {
    throw new VolleyError(
      'INVALID_TOOL',
      `The schema of ${owner} has "~standard" like a Standard Schema, but no validate() in it: pass the schema as its library created it.`,
    );
  }
  return {
    jsonSchema: asJsonSchema(schema),
    check: (value) => {
      const result = standard.validate(value);
      // Some libraries use promises other than the built-in ones.
      return isThenable(result)
        ? Promise.resolve(result).then(toCheckResult)
        : toCheckResult(result as StandardSchemaV1.Result<T>);
    },
  };
}

function toCheckResult<T>(result: StandardSchemaV1.Result<T>): CheckResult<T> {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return {
    ok: false,
    issues: result.issues.map(({ path = [], message }) => ({
      path: pointerTo(path.map((part) => (typeof part === 'object' ? part.key : part))),
      // zod's messages start with it, and the surrounding text says the same.
      rule: message.replace(/^Invalid input: /, ''),
    })),
  };
}

/** The library's own JSON Schema of the input; not every schema has one. */
function asJsonSchema(schema: StandardSchemaV1): JsonSchema | undefined {
  const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>;
  if (jsonSchema === undefined) return undefined;
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch {
    // A transformation or custom check has no JSON Schema: the tool works, but without a description.
    return undefined;
  }
}
