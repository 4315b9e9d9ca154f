import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonSchema, ToolSchema } from './schema.ts';

/** What a schema accepts; `unknown` without a schema. */
export type SchemaInput<S> = [S] extends [StandardSchemaV1]
  ? StandardSchemaV1.InferInput<S>
  : [S] extends [JsonSchema]
    ? FromJsonSchema<S>
    : unknown;

/** What a schema returns for valid values: a Standard Schema may change them. `unknown` without a schema. */
export type SchemaOutput<S> = [S] extends [StandardSchemaV1]
  ? StandardSchemaV1.InferOutput<S>
  : [S] extends [JsonSchema]
    ? FromJsonSchema<S>
    : unknown;

/** What a tool's function may return, given the tool's `output` schema. */
export type ReturnableBy<Out> = [Out] extends [ToolSchema] ? SchemaInput<Out> : unknown;

/** What a tool's callers get: what its `output` schema returns, or, if that says nothing, what its function returns. */
export type ResultWith<Out, R> = [Out] extends [ToolSchema]
  ? unknown extends SchemaOutput<Out>
    ? R
    : SchemaOutput<Out>
  : R;

/**
 * The type that a JSON Schema literal describes. It knows `type`, `enum`, `const`, `anyOf`, `oneOf`, `properties`,
 * `required`, `items` and `additionalProperties`; the rest is `unknown`. That covers the schemas of tools without a
 * package whose types every user would have to install.
 */
export type FromJsonSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: readonly (infer A)[] }
      ? FromJsonSchema<A>
      : S extends { readonly oneOf: readonly (infer A)[] }
        ? FromJsonSchema<A>
        : S extends { readonly type: infer T }
          ? FromType<T, S>
          : unknown;

type FromType<T, S> = T extends readonly (infer U)[]
  ? FromType<U, S>
  : T extends 'string'
    ? string
    : T extends 'number' | 'integer'
      ? number
      : T extends 'boolean'
        ? boolean
        : T extends 'null'
          ? null
          : T extends 'array'
            ? FromItems<S>
            : T extends 'object'
              ? FromProperties<S>
              : unknown;

type FromItems<S> = S extends { readonly prefixItems: unknown }
  ? unknown[]
  : S extends { readonly items: infer I }
    ? FromJsonSchema<I>[]
    : unknown[];

type FromProperties<S> = S extends { readonly properties: infer P }
  ? Flat<
      { -readonly [K in keyof P as K extends RequiredKey<S> ? K : never]: FromJsonSchema<P[K]> } & {
        -readonly [K in keyof P as K extends RequiredKey<S> ? never : K]?: FromJsonSchema<P[K]>;
      }
    >
  : S extends { readonly additionalProperties: infer A }
    ? { [key: string]: FromJsonSchema<A> }
    : { [key: string]: unknown };

type RequiredKey<S> = S extends { readonly required: readonly (infer R)[] } ? R : never;

/** An intersection as one object type, which reads better in an editor. */
type Flat<T> = { [K in keyof T]: T[K] };
