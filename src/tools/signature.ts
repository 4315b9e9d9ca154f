import { printableText } from '../core/printable-text.ts';
import type { JsonSchema } from './schema.ts';

/** The relevant part of a JSON Schema, which may come from anyone. */
interface Node {
  readonly $ref?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly unknown[];
  readonly oneOf?: readonly unknown[];
  readonly allOf?: readonly unknown[];
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly unknown[];
  readonly items?: unknown;
  readonly additionalProperties?: unknown;
  readonly description?: unknown;
}

interface SignatureOptions {
  /** Whether parameters are on lines of their own, with their descriptions, and long types complete. */
  readonly docs?: boolean;
  /** The type of the result, if there is no schema of it. */
  readonly returns?: string;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const MAX_DEPTH = 6;
const SHALLOW_DEPTH = 2;
const MAX_RESULT_LENGTH = 400;
/** Parts of one type. What comes after them is left open. */
const MAX_PARTS = 200;
const MAX_CHOICES = 20;
const MAX_FIELDS = 50;
const MAX_DOC_LENGTH = 200;

/** A tool as a TypeScript signature: `read_file({path: string, offset?: number}): {content: string}`. */
export function signatureOf(
  tool: {
    readonly name: string;
    readonly inputSchema: JsonSchema;
    readonly outputSchema?: JsonSchema;
  },
  { docs = false, returns }: SignatureOptions = {},
): string {
  const { name, inputSchema, outputSchema } = tool;
  const input = new TypeText(inputSchema);
  const params = docs ? input.documented() : input.text();
  const result = outputSchema === undefined ? returns : resultText(outputSchema, docs);
  return `${name}(${params === '{}' ? '' : params})${result === undefined ? '' : `: ${result}`}`;
}

/** A long type is shown without what is inside its fields. */
function resultText(schema: JsonSchema, isWhole: boolean): string {
  const text = new TypeText(schema).text();
  return isWhole || text.length <= MAX_RESULT_LENGTH ? text : new TypeText(schema, SHALLOW_DEPTH).text();
}

class TypeText {
  private parts = 0;

  constructor(
    private readonly root: JsonSchema,
    private readonly objectDepth = MAX_DEPTH,
  ) {}

  text(): string {
    return this.typeOf(this.root, 0);
  }

  /** One parameter on each line. */
  documented(): string {
    const { properties = {} } = this.resolved(this.root);
    const lines = this.fields(this.root, 0).map((field, index) => {
      const { description } = nodeOf(Object.values(nodeOf(properties))[index]);
      const doc = typeof description === 'string' ? ` // ${oneLine(description, MAX_DOC_LENGTH)}` : '';
      return `  ${field},${doc}`;
    });
    return lines.length === 0 ? this.text() : `{\n${lines.join('\n')}\n}`;
  }

  private typeOf(schema: unknown, depth: number): string {
    const node = this.resolved(schema);
    if (depth > MAX_DEPTH || ++this.parts > MAX_PARTS) return 'unknown';
    if (node.const !== undefined) return literal(node.const);
    if (Array.isArray(node.enum)) {
      const shown = node.enum.slice(0, MAX_CHOICES).map(literal);
      return [...shown, ...(node.enum.length > MAX_CHOICES ? ['…'] : [])].join(' | ');
    }
    const alternatives = node.anyOf ?? node.oneOf;
    if (Array.isArray(alternatives)) return this.union(alternatives, depth);
    if (Array.isArray(node.type))
      return this.union(
        node.type.map((type) => ({ ...node, type })),
        depth,
      );
    switch (node.type) {
      case 'string':
      case 'number':
      case 'boolean':
      case 'null':
        return node.type;
      case 'integer':
        return 'number';
      case 'array':
        return this.listType(node, depth);
      default:
        return this.objectType(node, depth);
    }
  }

  private union(alternatives: readonly unknown[], depth: number): string {
    const types = alternatives.slice(0, MAX_CHOICES).map((one) => this.typeOf(one, depth + 1));
    return [...new Set(types)].join(' | ') || 'unknown';
  }

  private listType({ items }: Node, depth: number): string {
    const type = items === undefined ? 'unknown' : this.typeOf(items, depth + 1);
    return type.includes(' | ') && !type.startsWith('{') ? `(${type})[]` : `${type}[]`;
  }

  private objectType(node: Node, depth: number): string {
    if (node.properties !== undefined && depth >= this.objectDepth) return 'object';
    if (node.properties !== undefined) return `{${this.fields(node, depth).join(', ')}}`;
    if (Array.isArray(node.allOf))
      return (
        node.allOf
          .slice(0, MAX_CHOICES)
          .map((one) => this.typeOf(one, depth + 1))
          .join(' & ') || 'unknown'
      );
    if (node.type !== 'object') return 'unknown';
    const { additionalProperties: others } = node;
    if (typeof others === 'object') return `Record<string, ${this.typeOf(others, depth + 1)}>`;
    return others === false || depth === 0 ? '{}' : 'object';
  }

  private fields(schema: unknown, depth: number): string[] {
    const { properties = {}, required } = this.resolved(schema);
    const needed = new Set(Array.isArray(required) ? required : []);
    const entries = Object.entries(nodeOf(properties));
    const shown = entries.slice(0, MAX_FIELDS).map(([name, field]) => {
      const key = IDENTIFIER.test(name) ? name : literal(name);
      return `${key}${needed.has(name) ? '' : '?'}: ${this.typeOf(field, depth + 1)}`;
    });
    return entries.length > MAX_FIELDS ? [...shown, '…'] : shown;
  }

  /** Follows a reference inside the schema. */
  private resolved(schema: unknown): Node {
    let node = nodeOf(schema);
    for (let hops = 0; typeof node.$ref === 'string' && hops < MAX_DEPTH; hops++) {
      const path = node.$ref.startsWith('#/') ? node.$ref.slice(2).split('/') : undefined;
      if (path === undefined) return {};
      node = nodeOf(
        path.reduce<unknown>((at, key) => (nodeOf(at) as Record<string, unknown>)[key], this.root),
      );
    }
    return node;
  }
}

function nodeOf(schema: unknown): Node {
  return typeof schema === 'object' && schema !== null ? schema : {};
}

function literal(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? 'unknown', 100);
}

function oneLine(text: string, length: number): string {
  const line = printableText(text.slice(0, length + 1))
    .replace(/\s+/g, ' ')
    .trim();
  return text.length > length ? `${line.slice(0, length)}…` : line;
}
