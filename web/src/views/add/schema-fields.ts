/** The part of JSON Schema that a form is made of. */
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
  readonly $ref?: string;
}

/** How one value is filled in. `any` is JSON, or a string where that is no JSON. */
export type Field = { readonly description: string; readonly fallback: unknown } & (
  | { readonly kind: 'string' | 'number' | 'boolean' | 'any' }
  | { readonly kind: 'choice'; readonly choices: readonly unknown[] }
  | { readonly kind: 'list'; readonly item: Field }
  | { readonly kind: 'object'; readonly properties: readonly Property[] }
);

export interface Property {
  readonly name: string;
  readonly isRequired: boolean;
  readonly field: Field;
}

/** Deeper values, and schemas that contain themselves, are filled in as JSON. */
const MAX_DEPTH = 5;
/** A form with more fields helps nobody, and a schema may be hostile. */
const MAX_FIELDS = 400;

/** The form of a JSON Schema. What is required comes first. */
export function fieldOf(schema: unknown): Field {
  return toField(schema as Schema, { root: (schema ?? {}) as Schema, left: MAX_FIELDS }, 0);
}

/** The whole schema, and how many fields may still be made of it. */
interface Source {
  readonly root: Schema;
  left: number;
}

function toField(given: Schema | undefined, source: Source, depth: number): Field {
  const schema = plainSchema(given ?? {}, source.root);
  const { description = given?.description ?? '', default: fallback } = schema;
  const common = { description, fallback };
  if (source.left-- <= 0) return { ...common, kind: 'any' };
  if (schema.const !== undefined) return { ...common, kind: 'choice', choices: [schema.const] };
  if (schema.enum !== undefined) return { ...common, kind: 'choice', choices: schema.enum };
  switch (typeof schema.type === 'object' ? onlyType(schema.type) : schema.type) {
    case 'string':
      return { ...common, kind: 'string' };
    case 'number':
    case 'integer':
      return { ...common, kind: 'number' };
    case 'boolean':
      return { ...common, kind: 'boolean' };
    case 'array':
      if (depth >= MAX_DEPTH) break;
      return { ...common, kind: 'list', item: toField(schema.items, source, depth + 1) };
    case 'object':
      if (schema.properties === undefined || depth >= MAX_DEPTH) break;
      return { ...common, kind: 'object', properties: propertiesOf(schema, source, depth) };
    default:
  }
  return { ...common, kind: 'any' };
}

function propertiesOf({ properties = {}, required = [] }: Schema, source: Source, depth: number): Property[] {
  return Object.entries(properties)
    .map(([name, own]) => ({
      name,
      isRequired: required.includes(name),
      field: toField(own, source, depth + 1),
    }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** Follows a reference within the document, and takes the only choice that is not null. */
function plainSchema(schema: Schema, root: Schema): Schema {
  let plain = schema;
  for (let step = 0; step < MAX_DEPTH; step++) {
    const choices = (plain.anyOf ?? plain.oneOf)?.filter(({ type }) => type !== 'null');
    if (plain.$ref !== undefined) plain = referred(plain.$ref, root);
    else if (choices?.length === 1) plain = choices[0]!;
    else break;
  }
  return plain;
}

function referred(reference: string, root: Schema): Schema {
  if (!reference.startsWith('#/')) return {};
  let place: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    place = Object(place)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return Object(place) as Schema;
}

function onlyType(types: readonly string[]): string | undefined {
  const some = types.filter((type) => type !== 'null');
  return some.length === 1 ? some[0] : undefined;
}

/** What a field has first: what is required of it. Undefined: nothing. */
export function emptyValue(field: Field): unknown {
  if (field.fallback !== undefined) return field.fallback;
  switch (field.kind) {
    case 'string':
      return '';
    case 'boolean':
      return false;
    case 'choice':
      return field.choices[0];
    case 'list':
      return [];
    case 'object': {
      const required = field.properties.filter(({ isRequired }) => isRequired);
      return Object.fromEntries(required.map(({ name, field: own }) => [name, emptyValue(own)]));
    }
    default:
      return undefined;
  }
}

/** What was typed as a number: the number, or the text as it stands, such as a reference; nothing if it is empty. */
export function numberIn(text: string): unknown {
  if (text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

/** What was typed as JSON: its value, or the text as it stands; nothing if it is empty. */
export function valueIn(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A short name of the type, for people. */
export function typeText(field: Field): string {
  switch (field.kind) {
    case 'choice':
      return field.choices.map((value) => JSON.stringify(value)).join(' | ');
    case 'list':
      return `list of ${typeText(field.item)}`;
    case 'any':
      return 'JSON';
    default:
      return field.kind;
  }
}
