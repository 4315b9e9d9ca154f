import { createRequire } from 'node:module';
import type { Ajv as AjvInstance, ErrorObject, Options } from 'ajv';
import { linearRegex } from './pattern/regex.ts';
import { type JsonSchema, pointerTo, type SchemaIssue } from './schema.ts';

const require = createRequire(import.meta.url);
/** The most violations reported; more say nothing new. */
const MAX_ISSUES = 100;

/** The violated rules; empty if the value is valid. */
export type Validate = (value: unknown) => readonly SchemaIssue[];

/** A separate Ajv per schema costs no more: a shared one keeps everything it compiled, and rejects a repeated `$id`. */
export function compileValidator(schema: JsonSchema, options: Options): Validate {
  const validate = newAjv(schema, { code: { regExp }, ...options }).compile(schema);
  return (value) => (validate(value) ? [] : issuesOf(validate.errors ?? []));
}

/**
 * An Ajv for the draft of a schema. Schemas come from many sources: unknown keywords and formats are ignored, as the
 * specification says.
 */
export function newAjv({ $schema }: JsonSchema, options?: Options): AjvInstance {
  const { default: Ajv } = require(moduleOf(String($schema))) as {
    default: new (options: Options) => AjvInstance;
  };
  const { default: addFormats } = require('ajv-formats') as { default: (ajv: AjvInstance) => void };
  const ajv = new Ajv({ allErrors: true, strict: false, logger: false, ...options });
  addFormats(ajv);
  return ajv;
}

/** Whether a pattern can be matched in linear time. Throws if it is invalid. */
export function linearPattern(pattern: string): ReturnType<typeof linearRegex> | undefined {
  new RegExp(pattern, 'u');
  try {
    return linearRegex(pattern);
  } catch {
    return undefined;
  }
}

/** Falls back to JavaScript's engine if linear time is impossible: only allowed in a thread. */
const regExp = Object.assign(
  (pattern: string) => {
    const linear = linearPattern(pattern);
    if (linear === undefined) return new RegExp(pattern, 'u');
    // Ajv distinguishes patterns by their source.
    return { test: (text: string) => linear.test(text), toString: () => `/${pattern}/u` };
  },
  { code: 'new RegExp' },
) as NonNullable<NonNullable<Options['code']>['regExp']>;

function moduleOf($schema: string): string {
  if (/draft-0[67]/.test($schema)) return 'ajv';
  return $schema.includes('2019-09') ? 'ajv/dist/2019' : 'ajv/dist/2020';
}

function issuesOf(errors: readonly ErrorObject[]): SchemaIssue[] {
  return errors.slice(0, MAX_ISSUES).map((error) => ({
    path: error.instancePath + pointerTo(missingOrExtra(error)),
    rule: ruleOf(error),
  }));
}

/** The field that the rule is about, if Ajv names only the enclosing object. */
function missingOrExtra({ keyword, params }: ErrorObject): string[] {
  const { missingProperty, additionalProperty, unevaluatedProperty } = params as Record<string, string>;
  const field =
    keyword === 'required' ? missingProperty : (additionalProperty ?? unevaluatedProperty ?? undefined);
  return field === undefined ? [] : [field];
}

function ruleOf({ keyword, params, message = `breaks the rule "${keyword}"` }: ErrorObject): string {
  const { allowedValues, allowedValue, type } = params;
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'is not a known field';
    case 'enum':
      return `must be one of ${allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`;
    case 'const':
      return `must be ${JSON.stringify(allowedValue)}`;
    case 'type':
      return `must be of type ${[type].flat().join(' or ')}`;
    default:
      return message;
  }
}
