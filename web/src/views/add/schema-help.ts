/** What a tool takes, one line for each argument. */
export interface Argument {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** The arguments of a JSON Schema, those that are required first. */
export function argumentsOf(schema: unknown): Argument[] {
  const { properties = {}, required = [] } = (schema ?? {}) as Schema;
  return Object.entries(properties)
    .map(([name, own]) => ({
      name,
      type: typeText(own),
      isRequired: required.includes(name),
      description: own.description ?? '',
    }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** An object with all that is required, to be filled in. */
export function skeletonOf(schema: unknown): string {
  const { properties = {}, required = [] } = (schema ?? {}) as Schema;
  const value = Object.fromEntries(required.map((name) => [name, emptyOf(properties[name] ?? {})]));
  return JSON.stringify(value, null, 2);
}

function typeText(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeText))].join(' | ');
  if (schema.type === 'array')
    return schema.items === undefined ? 'list' : `list of ${typeText(schema.items)}`;
  if (typeof schema.type === 'string') return schema.type;
  return schema.type?.join(' | ') ?? 'anything';
}

function emptyOf(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case 'string':
      return '';
    case 'number':
    case 'integer':
      return 0;
    case 'boolean':
      return false;
    case 'array':
      return [];
    default:
      return {};
  }
}
