import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { VolleyError } from '../core/errors.ts';
import { isThenable } from './needs.ts';
import { type CheckResult, type CompiledSchema, type JsonSchema, pointerTo } from './schema.ts';

export function compileStandardSchema<T>(
  schema: StandardSchemaV1<unknown, T>,
  owner: string,
): CompiledSchema<T> {
  const standard = schema['~standard'];
  if (typeof (standard as Partial<typeof standard> | null)?.validate !== 'function') {
    throw new VolleyError(
      'INVALID_TOOL',
      `The schema of ${owner} has "~standard" as a Standard Schema has it, but no validate() there: give the schema as its library made it.`,
    );
  }
  return {
    jsonSchema: asJsonSchema(schema),
    check: (value) => {
      const result = standard.validate(value);
      // Not every library has promises of the built-in kind.
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
      // zod begins with it, and the text around says the same.
      rule: message.replace(/^Invalid input: /, ''),
    })),
  };
}

/** What the library itself says of the input that it takes; not every schema can be said that way. */
function asJsonSchema(schema: StandardSchemaV1): JsonSchema | undefined {
  const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>;
  if (jsonSchema === undefined) return undefined;
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch {
    // A transformation or a custom check has no JSON Schema: the tool works all the same, it is only not described.
    return undefined;
  }
}
