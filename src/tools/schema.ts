import type { StandardSchemaV1 } from '@standard-schema/spec';

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
  /** The value as the schema gives it back (defaults filled in, transformed), or the rules that it breaks. */
  check(value: unknown): CheckResult<T> | Promise<CheckResult<T>>;
}

export type CheckResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };
