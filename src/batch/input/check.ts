import { z } from 'zod';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { show } from '../../core/numbers.ts';
import { listText } from '../../core/words.ts';

type Issue = z.core.$ZodIssue;

/** The relevant part of a JSON Schema. */
interface Outline {
  readonly properties?: Readonly<Record<string, Outline>>;
  readonly items?: Outline;
}

const MAX_SHOWN = 5;
/** How many problems the details of the error list. */
const MAX_REPORTED = 100;

/** The fields that other names stand for, the likeliest first. A name is replaced only if the schema has one of them. */
export const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  tool: ['function', 'names'],
  tool_name: ['function', 'names'],
  function: ['names'],
  function_name: ['function', 'names'],
  functions: ['names'],
  tools: ['names'],
  name: ['names'],
  params: ['args'],
  parameters: ['params', 'args'],
  arguments: ['params', 'args'],
  args: ['params'],
  input: ['params', 'args'],
  tool_args: ['params', 'args'],
  tool_input: ['params', 'args'],
  depends: ['depends_on'],
  deps: ['depends_on'],
  dependencies: ['depends_on'],
  retries: ['max_retries'],
  concurrency: ['max_concurrent'],
  max_concurrency: ['max_concurrent'],
  max_parallel: ['max_concurrent'],
  parallelism: ['max_concurrent'],
  timeout_s: ['timeout'],
  timeout_sec: ['timeout'],
  timeout_seconds: ['timeout'],
  wait_seconds: ['wait'],
  task_id: ['id', 'ids'],
  id: ['ids'],
  task_ids: ['ids'],
  tasks: ['ids'],
  batch_name: ['batch'],
  batch_id: ['batch'],
  calls: ['tasks'],
  status: ['filter_status'],
  statuses: ['filter_status', 'status'],
  filter_status: ['status'],
  path: ['output_file'],
  file: ['output_file'],
  file_path: ['output_file'],
  output_path: ['output_file'],
  details: ['detailed'],
  verbose: ['detailed'],
  query: ['search'],
  keywords: ['search'],
  program: ['code'],
  script: ['code'],
  foreach: ['for_each'],
  if: ['when'],
  condition: ['when'],
};

/** Validates the arguments of an action. The error names every invalid field. */
export function checkInput<S extends z.ZodType>(schema: S, action: string, given: unknown): z.output<S> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const { issues } = result.error;
  const problems = issues.slice(0, MAX_REPORTED).map((issue) => textOf(issue, given, schema));
  const texts = problems.slice(0, MAX_SHOWN);
  if (issues.length > MAX_SHOWN) texts.push(`and ${issues.length - MAX_SHOWN} more`);
  const [first] = issues;
  throw new VolleyError(
    codeOf(first!),
    `The request "${action}" is not valid: ${texts.join('; ')}. Nothing was changed.`,
    { action, field: placeText(first!.path), ...(issues.length > 1 && { problems }) },
  );
}

function codeOf(issue: Issue): ErrorCode {
  const isPriority = issue.path.at(-1) === 'priority' && issue.code === 'invalid_value';
  return isPriority ? 'UNKNOWN_PRIORITY' : 'INVALID_REQUEST';
}

function textOf(issue: Issue, given: unknown, schema: z.ZodType): string {
  if (issue.code === 'unrecognized_keys') return unknownFields(issue, schema);
  return `${placeText(issue.path)} ${faultText(issue, given)}`;
}

/** What is wrong with a field, such as `must be a string, but it is 5`. */
export function faultText(issue: Issue, given: unknown): string {
  const value = valueAt(given, issue.path);
  if (value === undefined && issue.code !== 'custom') return 'is missing';
  if (issue.code === 'too_small' && issue.origin !== 'number' && issue.origin !== 'int')
    return 'must not be empty';
  return `${ruleOf(issue, value)}, but it is ${show(value)}`;
}

function ruleOf(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_value': {
      const choices = issue.values.map(String);
      const near = typeof value === 'string' ? nearest(value, choices) : undefined;
      const meant = near === undefined ? '' : ` (did you mean ${near}?)`;
      return `must be ${choices.length === 1 ? '' : 'one of '}${choices.join(', ')}${meant}`;
    }
    case 'invalid_type':
      return `must be ${kindText(issue.expected)}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `must be at most ${issue.maximum}`
        : issue.origin === 'string'
          ? `must have at most ${issue.maximum} characters`
          : `must have at most ${issue.maximum} entries (send more in further requests)`;
    default:
      return issue.message;
  }
}

function kindText(expected: string): string {
  switch (expected) {
    case 'int':
      return 'a whole number';
    case 'array':
      return 'a list';
    case 'string':
      return 'a string';
    case 'boolean':
      return 'true or false';
    case 'object':
      return 'an object';
    default:
      return `a ${expected}`;
  }
}

function unknownFields({ keys, path }: Issue & { keys: string[] }, schema: z.ZodType): string {
  const known = Object.keys(outlineAt(schema, path)?.properties ?? {});
  const where = path.length === 0 ? '' : ` in ${placeText(path)}`;
  const texts = keys.slice(0, MAX_SHOWN).map((key) => {
    const meant = Object.hasOwn(SYNONYMS, key) ? SYNONYMS[key]! : [];
    const near = meant.find((name) => known.includes(name)) ?? nearest(key, known);
    return `${show(key)}${near === undefined ? '' : ` (did you mean "${near}"?)`}`;
  });
  return `unknown field ${listText(texts, keys.length)}${where}; known fields: ${known.join(', ')}`;
}

function outlineAt(schema: z.ZodType, path: readonly PropertyKey[]): Outline | undefined {
  let at = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Outline | undefined;
  for (const key of path) at = typeof key === 'number' ? at?.items : at?.properties?.[String(key)];
  return at;
}

/** `tasks[3].priority`, counted from 0 as in a program. */
function placeText(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the request';
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index > 0 ? '.' : ''}${String(key)}`))
    .join('');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let part = value;
  for (const key of path) part = (part as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return part;
}
