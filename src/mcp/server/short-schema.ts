import { z } from 'zod';

/** The part of a JSON Schema that models need. */
export interface FieldSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: FieldSchema;
  readonly anyOf?: readonly FieldSchema[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

/** Fields whose names say enough. */
const SELF_EVIDENT = new Set(
  `batch code depends_on function id limit max_retries name params session status tasks timeout`.split(' '),
);

/**
 * The schema of a tool as models read it: names, types, choices and a few words each, without some fields. Every client
 * sends it with every turn, so it has no limits and defaults. What it leaves out is still accepted and checked.
 */
export function shortSchema(schema: z.ZodType, without: readonly string[] = []): FieldSchema {
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as FieldSchema;
  return shortObject(whole, new Set(without));
}

function shortObject(
  { properties = {}, required = [] }: FieldSchema,
  without: ReadonlySet<string>,
): FieldSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => !without.has(name))
        .map(([name, field]) => [name, shortField(name, field, without)]),
    ),
    ...(required.length > 0 && { required }),
  };
}

/** A field. Of an object inside of it only the names are listed. */
function shortField(name: string, field: FieldSchema, without: ReadonlySet<string>): FieldSchema {
  const { properties, items } = field;
  const names = properties === undefined ? undefined : `{${Object.keys(properties).join(', ')}}`;
  const description = names ?? (SELF_EVIDENT.has(name) ? undefined : firstSentence(field.description));
  return {
    ...shortType(field),
    ...(items?.properties !== undefined && { items: shortObject(items, without) }),
    ...(description !== undefined && { description }),
  };
}

/** Without the fields of objects. Some clients refuse a list without a type of its items. */
export function shortType({ type, enum: choices, items, anyOf = [] }: FieldSchema): FieldSchema {
  if (anyOf.length > 0) {
    const kinds = new Map(anyOf.map(shortType).map((one) => [one.type, one]));
    return kinds.size === 1 ? shortType(anyOf[0]!) : { anyOf: [...kinds.values()] };
  }
  return {
    ...(type !== undefined && { type }),
    ...(choices !== undefined && { enum: choices }),
    ...(type === 'array' && { items: shortType(items ?? {}) }),
  };
}

function firstSentence(text: string | undefined): string | undefined {
  return text?.replace(/\.(?:\s.*)?$/s, '');
}
