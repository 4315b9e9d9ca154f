import { createRequire } from 'node:module';
import type { Ajv as AjvInstance, ErrorObject, Options, ValidateFunction } from 'ajv';
import { isDeeperThan } from '../core/depth.ts';
import { VolleyError } from '../core/errors.ts';
import type { CompiledSchema, JsonSchema, SchemaIssue } from './schema.ts';
import { pointerTo } from './schema.ts';

/** Both the check and the compiler work by recursion. */
const DEEPEST = 200;
const require = createRequire(import.meta.url);
/** One for each draft checks schemas, made when the first of that draft appears: it takes tens of milliseconds. */
const validators = new Map<string, AjvInstance>();

/** The schema is checked now and compiled when the first value comes: hundreds of tools may be known and few called. */
export function compileJsonSchema<T>(schema: JsonSchema, owner: string): CompiledSchema<T> {
  if (isDeeperThan(schema, DEEPEST)) throw invalidSchema(owner, `it is nested deeper than ${DEEPEST} levels`);
  const draft = moduleOf(String(schema['$schema']));
  const ajv = validatorFor(draft);
  if (!isValid(ajv, schema, owner)) throw invalidSchema(owner, ajv.errorsText(ajv.errors));
  let validate: ValidateFunction | undefined;
  return {
    jsonSchema: schema,
    check: (value) => {
      validate ??= compile(draft, schema, owner);
      const ok = validate(value);
      return ok ? { ok, value: value as T } : { ok: false, issues: issuesOf(validate.errors ?? []) };
    },
  };
}

function isValid(ajv: AjvInstance, schema: JsonSchema, owner: string): unknown {
  try {
    return ajv.validateSchema(schema);
  } catch (error) {
    // The `$schema` is none that Ajv knows.
    throw invalidSchema(
      owner,
      `${(error as Error).message}; "$schema" may be draft-06, draft-07, 2019-09, 2020-12 or left out`,
    );
  }
}

/** An Ajv of its own costs no more: a shared one keeps all that it ever compiled, and knows an `$id` only once. */
function compile(draft: string, schema: JsonSchema, owner: string): ValidateFunction {
  try {
    return newAjv(draft, { validateSchema: false }).compile(schema);
  } catch (error) {
    throw invalidSchema(owner, (error as Error).message);
  }
}

function invalidSchema(owner: string, problem: string): VolleyError {
  return new VolleyError('INVALID_TOOL', `The JSON Schema of ${owner} is not valid: ${problem}.`);
}

function validatorFor(draft: string): AjvInstance {
  let ajv = validators.get(draft);
  if (ajv === undefined) {
    ajv = newAjv(draft);
    validators.set(draft, ajv);
  }
  return ajv;
}

function newAjv(draft: string, options?: Options): AjvInstance {
  const { default: Ajv } = require(draft) as { default: new (options: Options) => AjvInstance };
  const { default: addFormats } = require('ajv-formats') as { default: (ajv: AjvInstance) => void };
  // Schemas come from many places: an unknown keyword or format is passed over, as the specification says.
  const ajv = new Ajv({ allErrors: true, strict: false, logger: false, verbose: true, ...options });
  addFormats(ajv);
  return ajv;
}

function moduleOf($schema: string): string {
  if (/draft-0[67]/.test($schema)) return 'ajv';
  return $schema.includes('2019-09') ? 'ajv/dist/2019' : 'ajv/dist/2020';
}

function issuesOf(errors: readonly ErrorObject[]): SchemaIssue[] {
  return errors.map((error) => ({
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
