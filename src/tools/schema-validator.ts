import { createRequire } from 'node:module';
import type { Ajv as AjvInstance, ErrorObject, Options } from 'ajv';
import { linearRegex } from './pattern/regex.ts';
import { type JsonSchema, pointerTo, type SchemaIssue } from './schema.ts';

const require = createRequire(import.meta.url);
/** What a value breaks beyond these says nothing new. */
const MAX_ISSUES = 100;

/** The rules that a value breaks: none where it fits. */
export type Validate = (value: unknown) => readonly SchemaIssue[];

/** An Ajv of its own costs no more: a shared one keeps all that it ever compiled, and knows an `$id` only once. */
export function compileValidator(schema: JsonSchema, options: Options): Validate {
  const validate = newAjv(schema, { code: { regExp }, ...options }).compile(schema);
  return (value) => (validate(value) ? [] : issuesOf(validate.errors ?? []));
}

/**
 * An Ajv of the draft that a schema is written in. Schemas come from many places: an unknown keyword or format is passed
 * over, as the specification says.
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

/** Whether a pattern can be matched in linear time. Throws where it is none. */
export function linearPattern(pattern: string): ReturnType<typeof linearRegex> | undefined {
  new RegExp(pattern, 'u');
  try {
    return linearRegex(pattern);
  } catch {
    return undefined;
  }
}

/** Where linear time cannot be had, JavaScript's own engine stands in: who allows that is in a thread. */
const regExp = Object.assign(
  (pattern: string) => {
    const linear = linearPattern(pattern);
    if (linear === undefined) return new RegExp(pattern, 'u');
    // Ajv tells patterns apart by their text.
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

/** The field that the rule is about, where Ajv names only the object around it. */
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
