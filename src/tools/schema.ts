import type { StandardSchemaV1 } from '@standard-schema/spec';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import { compileJsonSchema } from './json-schema.ts';
import { compileStandardSchema } from './standard-schema.ts';

/** A JSON Schema (2020-12 unless `$schema` says otherwise). */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** How the input or the output of a tool is described. */
export type ToolSchema<T = unknown> = StandardSchemaV1<unknown, T> | JsonSchema;

/** One rule that a value breaks. */
export interface SchemaIssue {
  /** A JSON pointer to the field, empty for the value as a whole. */
  readonly path: string;
  /** The rule in words, such as `must be a whole number`. */
  readonly rule: string;
}

/** A schema that can be asked, whatever it was written in. */
export interface CompiledSchema<T = unknown> {
  /** For discovery; undefined where a Standard Schema cannot be shown as JSON Schema. */
  readonly jsonSchema: JsonSchema | undefined;
  /** The value as the schema gives it back (a Standard Schema may change it), or the rules that it breaks. */
  check(value: unknown): CheckResult<T> | Promise<CheckResult<T>>;
}

/** What a schema says of a value. */
export type CheckResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** What a tool without a schema has. */
const ANYTHING: CompiledSchema = {
  jsonSchema: {},
  check: (value) => ({ ok: true, value }),
};

/** Which of the two schemas of a tool one is. */
export type SchemaPart = 'input' | 'output';

/** Makes a schema of a tool ready for use, or says what is wrong with it. */
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

/** The broken rules in one line: `/path must be a string; /size is required`. */
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
