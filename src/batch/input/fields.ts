import { z } from 'zod';
import { MAX_AMOUNT, type ResourceRequirements } from '../../core/demand.ts';
import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { PRIORITIES } from '../../core/priority.ts';
import { resourceNameProblem } from '../../core/resource-names.ts';
import { type CountableNeeds, RESOURCE_TABLE } from '../../core/resource-table.ts';
import { COMPUTE, RUN_PROGRAM } from '../../core/script-tools.ts';
import { isObject } from '../../core/values.ts';
import { TASK_STATUSES, type TaskOptions } from '../../store/records.ts';

/** Control characters and lone surrogates break lines, terminals and files. */
const UNPRINTABLE = /[\p{Cc}\p{Surrogate}]/u;

const MAX_SECONDS = Math.floor(MAX_SPAN_MS / 1000);
const MAX_ID_LENGTH = 128;
/** The id of an item is that of its group and a number: `read[3]`. */
const MAX_ITEM_ID_LENGTH = MAX_ID_LENGTH + 8;
const BRACKETS = /[[\]]/;
const MAX_EXPRESSION_LENGTH = 20_000;
const MAX_ROUNDS = 10_000;
const MAX_LIST_LENGTH = 100_000;

function label(maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .refine((text) => !UNPRINTABLE.test(text), {
      error: 'must not contain control characters (such as NUL or a line break) or lone surrogates',
    });
}

const TASK_NAME = label(200);

/** The id of an existing task. */
export const TASK_ID = label(MAX_ITEM_ID_LENGTH);

/** The id of a new task, or of one that others depend on. */
const OWN_ID = label(MAX_ID_LENGTH).refine((id) => !BRACKETS.test(id), {
  error: 'must not contain brackets, which are for items of groups such as read[3]',
});

const EXPRESSION = z.string().min(1).max(MAX_EXPRESSION_LENGTH);

const TASK_IDS = z.array(TASK_ID).min(1).max(MAX_LIST_LENGTH);

export const BATCH = label(100).default('default').describe('The name of the batch. Default "default".');

export const SECONDS = z.number().positive().max(MAX_SECONDS);

/** Most MCP clients time out after 60 s, so a call that waits answers before that. */
export const DEFAULT_WAIT_SECONDS = 50;

export const PRIORITY = z.enum([...PRIORITIES, 'medium']);

export const STATUS_FILTER = z
  .union([z.enum(TASK_STATUSES), z.array(z.enum(TASK_STATUSES)).min(1)], {
    error: `must be a status or a list of them: ${TASK_STATUSES.join(', ')}`,
  })
  .transform((status) => (Array.isArray(status) ? [...new Set(status)] : [status]));

/** An object that is passed on unchanged: the tool validates its fields. */
export const PARAMS = z
  .custom<Record<string, unknown>>((value) => isObject(value), { error: 'must be an object' })
  .meta({ type: 'object' });

type ResourceRow = (typeof RESOURCE_TABLE)[number];

/** The need of each resource on the wire. */
type CountableWireNeeds = {
  [R in ResourceRow as R['wireNeed']]: z.ZodOptional<z.ZodType<NonNullable<CountableNeeds[R['need']]>>>;
};

function needSchema(row: ResourceRow): z.ZodOptional<z.ZodType> {
  const { written } = row;
  const schema =
    written === 'number'
      ? z.number().min(0)
      : written === 'flag'
        ? z.boolean()
        : z.enum(Object.keys(written) as [string, ...string[]]);
  return 'needHelp' in row ? schema.optional().describe(row.needHelp) : schema.optional();
}

/** Converts the needs of a task to the names of the core. */
export function toRequirements(needs: z.output<typeof RESOURCE_FIELDS>): ResourceRequirements {
  const fields = new Map<string, string>(RESOURCE_TABLE.map(({ wireNeed, need }) => [wireNeed, need]));
  return Object.fromEntries(
    Object.entries(needs)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [fields.get(field) ?? field, value]),
  ) as ResourceRequirements;
}

const WIRE_NEEDS = {
  ...(Object.fromEntries(RESOURCE_TABLE.map((row) => [row.wireNeed, needSchema(row)])) as CountableWireNeeds),
  exclusive: z.array(z.string().min(1).max(256)).max(64).optional().describe('Names of locks.'),
  shared: z.array(z.string().min(1).max(256)).max(64).optional().describe('Names of locks.'),
};

/** The fields of a demand on the wire that are not named resources. */
export const DEMAND_WIRE_FIELDS: readonly string[] = Object.keys(WIRE_NEEDS);

/** Any other field is the amount of a named resource. Whether there is such a resource, the engine knows. */
export const RESOURCE_FIELDS = z
  .object(WIRE_NEEDS)
  .catchall(
    z.unknown().meta({
      type: 'number',
      minimum: 0,
      maximum: MAX_AMOUNT,
      description: 'How much it needs of a named resource, such as "gpu".',
    }),
  )
  .superRefine((needs, context) => {
    const named = Object.entries(needs).filter(([field]) => !DEMAND_WIRE_FIELDS.includes(field));
    const keys = named
      .filter(([field, value]) => typeof value !== 'number' || resourceNameProblem(field) !== undefined)
      .map(([field]) => field);
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: needs });
    for (const [field, value] of named)
      if (typeof value === 'number' && !(value >= 0 && value <= MAX_AMOUNT))
        context.addIssue({
          code: 'custom',
          message: `must be from 0 to ${MAX_AMOUNT}`,
          path: [field],
          input: value,
        });
  });

/** A list, an expression or a placeholder, or one of the objects for a reference, an expression or a glob. */
const FOR_EACH = z
  .union([EXPRESSION, z.array(z.unknown()).max(MAX_LIST_LENGTH), z.record(z.string(), z.unknown())], {
    error: 'must be a list, a reference, { "glob": "src/**" } or a string with an expression',
  })
  .refine((value) => typeof value === 'string' || Array.isArray(value) || isListObject(value), {
    error: 'must have the fields of a reference ($from, path), an expression ($expr) or a glob (glob)',
  });

function isListObject(value: Readonly<Record<string, unknown>>): boolean {
  const { path, ...rest } = value;
  const [[field, text] = [], ...others] = Object.entries(rest);
  if (others.length > 0 || typeof text !== 'string') return false;
  return path === undefined ? ['$from', '$expr', 'glob'].includes(field!) : field === '$from';
}

/** The fields of a task, of `add` and of each entry of `add_batch`. */
export const TASK_FIELDS = {
  name: TASK_NAME.optional().describe('A display name. Default: the id, or the name of the function.'),
  function: z.string().min(1).max(128).describe('The tool to call.'),
  params: PARAMS.default({}).describe(
    'The arguments of the tool. { "$from": id, "path": "/a/0" } and "${id.a[0]}" stand for a part of the result of another task of the batch; "$${" is a literal "${".',
  ),
  priority: PRIORITY.optional(),
  max_retries: z.number().int().min(0).max(1000).optional().describe('Attempts after the first.'),
  id: OWN_ID.optional().describe('Unique in the batch. Default: one is chosen and returned.'),
  depends_on: z.array(OWN_ID).max(10_000).optional().describe('Ids of tasks that must end first.'),
  timeout: SECONDS.optional().describe('Seconds for one attempt.'),
  resources: RESOURCE_FIELDS.optional().describe('What it needs, if different from its tool.'),
  on: z
    .record(z.string().min(1).max(256), z.union([z.string().max(256), z.number(), z.boolean()]))
    .optional()
    .describe('Labels of the workers it may run on.'),
  on_dependency_failure: z
    .enum(['skip', 'run', 'on-failure'])
    .optional()
    .describe('What to do if a dependency did not complete. Default skip.'),
  when: EXPRESSION.optional().describe('JavaScript over results. The task is skipped unless it is true.'),
  for_each: FOR_EACH.optional().describe(
    'One run for each element of a list, a reference, { "glob": "src/**" } or JavaScript, with ${item} and ${index} in params. The result is a list.',
  ),
  repeat: z
    .strictObject({
      until: EXPRESSION.optional().describe('JavaScript over result, index and results.'),
      max: z.number().int().min(1).max(MAX_ROUNDS).default(100).describe('Maximum rounds. Default 100.'),
      delay: SECONDS.optional().describe('Seconds between rounds.'),
    })
    .optional()
    .describe('Runs it again, with ${last} and ${index} in params. The result is a list.'),
  max_concurrent: z
    .number()
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('With for_each: items that may run at once.'),
  on_item_error: z
    .enum(['fail', 'null'])
    .optional()
    .describe('"null": a failed item is null in the list. Default fail.'),
};

/** The settings of a call, in the names of the store. */
export function callSettings({
  priority,
  max_retries: maxRetries,
  timeout,
  resources,
  on,
}: Partial<Pick<TaskInput, 'priority' | 'max_retries' | 'timeout' | 'resources' | 'on'>>): TaskOptions {
  return {
    ...(priority !== undefined && { priority }),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1000 }),
    ...(resources !== undefined && { resources: toRequirements(resources) }),
    ...(on !== undefined && { on }),
  };
}

export const TASK = z.strictObject(TASK_FIELDS);

export type TaskInput = z.output<typeof TASK>;

/** What the items of a group are made from. */
export type ForEach = z.output<typeof FOR_EACH>;

/** The id of the task whose result is what the batch returns. */
export const RETURN_ID = 'return';

export const RETURN = EXPRESSION.optional().describe(
  'A JavaScript expression over all results, by id: what the batch returns.',
);

/** The task that computes what a batch returns. */
export function returnTask(expression: string): TaskInput {
  return { id: RETURN_ID, function: COMPUTE, params: { expression } };
}

/** The id of a program that is a batch of its own. What it returns is what the batch returns. */
export const PROGRAM_ID = 'program';

/** The task of such a program. */
export function programTask(code: string, args?: unknown): z.input<typeof TASK> {
  return { id: PROGRAM_ID, function: RUN_PROGRAM, params: { code, ...(args !== undefined && { args }) } };
}

export const IDS = TASK_IDS.optional().describe('Ids of tasks.');
