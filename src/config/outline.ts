import { z } from 'zod';
import { isObject } from '../core/values.ts';
import { listText } from '../core/words.ts';
import type { Settings } from './schema.ts';
import { tomlNumber, valueText } from './toml-text.ts';
import { configSchema, sectionSchema } from './zod-schema.ts';

/** A part of our schema as JSON Schema. */
export interface SchemaNode {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | false;
  readonly propertyNames?: SchemaNode;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly enum?: readonly string[];
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly default?: unknown;
  readonly defaultText?: string;
}

/** A key with a value. `*` in a path stands for a name the user chooses. */
export interface Key {
  readonly path: readonly string[];
  readonly node: SchemaNode;
  /** The environment variable that overrides it, with `<NAME>` for a chosen name. */
  readonly variable: string;
}

/** A table of the file with its keys. */
export interface OutlineTable {
  readonly path: readonly string[];
  readonly node: SchemaNode;
  readonly keys: readonly Key[];
}

export const VARIABLE_PREFIX = 'VOLLEY_';

let outline: SchemaNode | undefined;

/** The whole schema, for documentation; validation uses {@link configSchema}. */
export function schemaOutline(): SchemaNode {
  outline ??= z.toJSONSchema(configSchema(), { io: 'input', target: 'draft-7' }) as SchemaNode;
  return outline;
}

/** The tables of one section: the outline of everything takes long to make. */
export function tablesOfSection(name: keyof Settings): OutlineTable[] {
  const node = z.toJSONSchema(sectionSchema(name), { io: 'input', target: 'draft-7' }) as SchemaNode;
  return tablesOf(node, [name]);
}

/** All tables, each followed by its subtables. */
export function tablesOf(node: SchemaNode = schemaOutline(), path: readonly string[] = []): OutlineTable[] {
  const inner = Object.entries(node.properties ?? {});
  if (typeof node.additionalProperties === 'object') inner.push(['*', node.additionalProperties]);
  const keys = inner
    .filter(([, { type }]) => type !== 'object')
    .map(([name, child]) => ({ path: [...path, name], node: child, variable: variableOf([...path, name]) }));
  const tables = inner
    .filter(([, { type }]) => type === 'object')
    .flatMap(([name, child]) => tablesOf(child, [...path, name]));
  return [{ path, node, keys }, ...tables];
}

export function nodeAt(path: readonly PropertyKey[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = schemaOutline();
  for (const part of path) {
    if (node === undefined) return undefined;
    if (typeof part === 'number') node = node.items;
    else node = childOf(node, String(part));
  }
  return node;
}

function childOf({ properties, additionalProperties }: SchemaNode, name: string): SchemaNode | undefined {
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** Describes the valid values: `a whole number from 1 to 64`. */
export function validText(node: SchemaNode): string {
  switch (node.type) {
    case 'integer':
      return `a whole number ${validRange(node)}`;
    case 'number':
      return `a number ${validRange(node)}`;
    case 'boolean':
      return 'true or false';
    case 'array': {
      const example = node.examples === undefined ? '' : ` such as ${valueText(node.examples[0])}`;
      return `a list of strings${example}${node.minItems ? ', not empty' : ''}`;
    }
    case 'string':
      if (node.enum !== undefined) return orText(node.enum.map(valueText));
      return `a string of ${node.minLength ?? 0} to ${tomlNumber(node.maxLength ?? 0)} characters`;
    default:
      return node.required === undefined ? 'a table' : `a table with ${listText(node.required)}`;
  }
}

export function validRange({ minimum, maximum }: SchemaNode): string {
  return `from ${tomlNumber(minimum!)} to ${tomlNumber(maximum!)}`;
}

/** `"a", "b" or "c"` */
function orText(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function variableOf(path: readonly string[]): string {
  return VARIABLE_PREFIX + path.map((part) => (part === '*' ? '<NAME>' : part.toUpperCase())).join('_');
}

/** The JSON Schema of `volley.toml` for editors, identical on every machine. */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = withoutOurOwn(schemaOutline());
  return { $schema, title: 'volley.toml', description: 'The configuration of Volley.', ...rest };
}

/** Drops documentation-only fields, and defaults that depend on the machine or carry no information. */
function withoutOurOwn(node: SchemaNode): Record<string, unknown> {
  const { defaultText, default: value, ...rest } = node;
  const says = value !== undefined && defaultText === undefined && node.type !== 'object';
  const shown = says ? { ...rest, default: value } : rest;
  return Object.fromEntries(
    Object.entries(shown).map(([keyword, part]) => {
      if (keyword === 'properties') {
        const parts = Object.entries(part as Record<string, SchemaNode>);
        return [keyword, Object.fromEntries(parts.map(([name, child]) => [name, withoutOurOwn(child)]))];
      }
      const isNode = isObject(part) && keyword !== 'default';
      return [keyword, isNode ? withoutOurOwn(part as SchemaNode) : part];
    }),
  );
}
