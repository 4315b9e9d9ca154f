import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import { LONGEST_CALL_ID } from './call.ts';

/**
 * References from arguments to results of other calls. `{ "$from": "id", "path": "/items/0" }` stands for that part
 * of the result with its type; `${id.items.0}` inside a text is replaced by it. Only ids of the same list count:
 * any other `${…}` belongs to the text, as it does in a shell command. `$${` is a plain `${`.
 */

/** Gives the result of a call, or throws an error that says why there is none. */
export type ResultLookup = (id: string) => unknown;

/** Deeper arguments are refused: nobody means them, and the work is recursive. */
const MAX_DEPTH = 100;
/** Shared by all that refer to nothing, which is nearly all. */
const NONE: ReadonlySet<string> = new Set();
const TEMPLATE = /\$?\$\{([^{}]*)\}/g;

/** The ids that arguments refer to. A typed reference to an unknown id is an error. */
export function referencesIn(value: unknown, known: ReadonlySet<string>): ReadonlySet<string> {
  let found: Set<string> | undefined;
  const add = (id: string) => {
    found ??= new Set();
    found.add(id);
  };
  visit(value, known, add, 0);
  return found ?? NONE;
}

/** The arguments with every reference replaced; what holds none is given back as it is. */
export function resolveReferences(value: unknown, known: ReadonlySet<string>, lookup: ResultLookup): unknown {
  if (typeof value === 'string') return fillTemplates(value, known, lookup);
  if (Array.isArray(value)) return value.map((item) => resolveReferences(item, known, lookup));
  if (!isPlainObject(value)) return value;
  const reference = typedReference(value);
  if (reference !== undefined) return pick(lookup(reference.id), reference.id, pointerKeys(reference.path));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, resolveReferences(item, known, lookup)]),
  );
}

function visit(value: unknown, known: ReadonlySet<string>, found: (id: string) => void, depth: number): void {
  if (depth > MAX_DEPTH) {
    throw new VolleyError(
      'INVALID_ARGUMENTS',
      `The arguments are nested more than ${MAX_DEPTH} levels deep.`,
    );
  }
  if (typeof value === 'string') {
    if (!value.includes('${')) return;
    for (const [text, inner] of value.matchAll(TEMPLATE)) {
      const head = text.startsWith('$$') ? undefined : templateHead(inner!, known);
      if (head !== undefined) found(head.id);
    }
  } else if (Array.isArray(value)) {
    for (const item of value) visit(item, known, found, depth + 1);
  } else if (isPlainObject(value)) {
    const reference = typedReference(value);
    if (reference === undefined) {
      for (const item of Object.values(value)) visit(item, known, found, depth + 1);
      return;
    }
    pointerKeys(reference.path);
    if (!known.has(reference.id)) {
      throw new VolleyError(
        'UNKNOWN_DEPENDENCY',
        `The arguments refer to the result of ${show(reference.id)}, but no call of the list has this id.`,
        { id: reference.id },
      );
    }
    found(reference.id);
  }
}

/** A Map, a Date or an instance of a class holds no references: a copy of its fields would not be the same. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // An object of another realm (a test's, a vm's) is plain, too: its prototype has none itself.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

interface TypedReference {
  readonly id: string;
  readonly path: string;
}

/** An object with `$from` and nothing else but `path`; an object with other fields is an argument like any other. */
function typedReference(value: object): TypedReference | undefined {
  if (!Object.hasOwn(value, '$from')) return undefined;
  const { $from: id, path = '', ...rest } = value as { $from: unknown; path?: unknown };
  if (typeof id !== 'string' || typeof path !== 'string' || Object.keys(rest).length > 0) return undefined;
  return { id, path };
}

function pointerKeys(path: string): string[] {
  if (path === '') return [];
  if (!path.startsWith('/')) {
    throw new VolleyError(
      'INVALID_ARGUMENTS',
      `The path of a reference is a JSON pointer such as "/items/0/name", but it is ${show(path)}.`,
    );
  }
  return path
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function fillTemplates(text: string, known: ReadonlySet<string>, lookup: ResultLookup): string {
  if (!text.includes('${')) return text;
  return text.replace(TEMPLATE, (whole, inner: string) => {
    if (whole.startsWith('$$')) return whole.slice(1);
    const head = templateHead(inner, known);
    if (head === undefined) return whole;
    const part = pick(lookup(head.id), head.id, head.keys);
    return typeof part === 'string' ? part : jsonOf(part, head.id, inner);
  });
}

function jsonOf(part: unknown, id: string, inner: string): string {
  try {
    return JSON.stringify(part) ?? '';
  } catch {
    throw new VolleyError(
      'UNSERIALISABLE_RESULT',
      `"\${${inner}}" cannot stand in a text: what it refers to in the result of ${id} cannot be written as JSON, because it holds itself or a BigInt, for example. Refer to a part of it.`,
      { id },
    );
  }
}

/** The longest known id that the text begins with, up to a dot: ids may have dots of their own. */
function templateHead(inner: string, known: ReadonlySet<string>): { id: string; keys: string[] } | undefined {
  const most = inner.length <= LONGEST_CALL_ID ? inner.length : inner.lastIndexOf('.', LONGEST_CALL_ID);
  for (let end = most; end > 0; end = inner.lastIndexOf('.', end - 1)) {
    const id = inner.slice(0, end);
    if (known.has(id)) return { id, keys: end === inner.length ? [] : inner.slice(end + 1).split('.') };
  }
  return undefined;
}

function pick(result: unknown, id: string, keys: readonly string[]): unknown {
  let part = result;
  for (const [index, key] of keys.entries()) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key)) {
      throw missing(id, keys, index, part);
    }
    part = (part as Record<string, unknown>)[key];
  }
  return part;
}

function missing(id: string, keys: readonly string[], index: number, part: unknown): VolleyError {
  const path = `/${keys.join('/')}`;
  const place = index === 0 ? 'the result' : `"/${keys.slice(0, index).join('/')}"`;
  return new VolleyError(
    'UNRESOLVED_REFERENCE',
    `The result of ${id} has no "${path}": ${place} is ${contents(part)}.`,
    { id, path },
  );
}

function contents(part: unknown): string {
  if (Array.isArray(part)) return `a list of ${part.length}`;
  if (typeof part !== 'object' || part === null) return part === null ? 'null' : `a ${typeof part}`;
  const keys = Object.keys(part);
  if (keys.length === 0) return 'an empty object';
  const shown = keys.slice(0, 10).map((key) => show(key));
  return `an object with ${shown.join(', ')}${keys.length > shown.length ? ', …' : ''}`;
}
