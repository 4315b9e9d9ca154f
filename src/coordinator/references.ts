import { internalError, VolleyError } from '../core/errors.ts';
import { pathText } from '../core/json-numbers.ts';
import { show } from '../core/numbers.ts';
import { countText } from '../core/words.ts';
import { MAX_CALL_ID_LENGTH } from './call.ts';

/**
 * References from arguments to results of other calls. `{ "$from": "id", "path": "/items/0" }` stands for that part
 * of the result with its type; `${id.items[0]}` inside a string is replaced by it; `{ "$expr": "…" }` stands for the
 * value of a JavaScript expression. Only ids of the same list count: any other `${…}` belongs to the string, as it does
 * in a shell command. `$${` is a plain `${`. What a reference stands for is never searched for references.
 */

/** Returns the result of a call, or throws an error that explains why there is none. */
export type ResultLookup = (id: string) => unknown;

/** Returns the value of an expression. */
export type ExpressionLookup = (source: string) => unknown;

/** The results of calls. */
export interface Results {
  readonly value: ResultLookup;
  /** The result as JSON, or undefined if there is none. */
  json(id: string): string | undefined;
}

/** The ids that arguments may refer to. */
export interface KnownIds {
  has(id: string): boolean;
  /** Suggests a known id for an unknown one. Without it, similar ids are not rejected. */
  nearest?(id: string): string | undefined;
  /** Names with a value of their own, such as `item`. They hide ids. */
  readonly names?: ReadonlySet<string>;
  /** What all expressions mention, if that was found before. Then they are not parsed. */
  readonly mentions?: ReadonlySet<string>;
}

type Known = Pick<KnownIds, 'has' | 'names'>;

/** The references in arguments. */
export interface References {
  readonly ids: ReadonlySet<string>;
  /** Those of `ids` that expressions mention. */
  readonly mentions: ReadonlySet<string>;
  readonly expressions: ReadonlySet<string>;
  /** Whether the names, such as `item`, may occur. */
  readonly usesNames: boolean;
  /** Whether there is an escape, which must be replaced even without references. */
  readonly hasEscapes: boolean;
  /** Placeholders that look like references but are not: at most one warning per call. */
  readonly warnings: readonly string[];
}

/** Deeper arguments are rejected, because the functions are recursive. */
const MAX_DEPTH = 100;
const MAX_SHOWN = 3;
const MAX_SHOWN_LENGTH = 60;
/** Shared by all arguments without references, which are most. */
export const NO_REFERENCES: References = {
  ids: new Set(),
  mentions: new Set(),
  expressions: new Set(),
  usesNames: false,
  hasEscapes: false,
  warnings: [],
};
/** An identifier and a path, which probably mean a result. */
const WITH_PATH = /^([A-Za-z_][\w-]*)(?:\.[A-Za-z_0-9]|\[)/;
const IDENTIFIER = /^[A-Za-z_][\w-]*$/;
/** Variable names of shells and build tools. */
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;
const MUSTACHE = /\{\{[^{}]{1,200}\}\}/g;
/** `[0]`, `[-1]` or `["key"]`. */
const BRACKETS = /\[(?:(-?\d{1,15})|("(?:[^"\\]|\\.){0,1000}"))\]/y;
const KEY = /\.([^.[\]{}]+)/y;

/**
 * Finds the references in arguments. A typed reference to an unknown id is an error, and so is `${id.path}` where the path cannot
 * be read, or where the id is nearly that of another call.
 */
export function referencesIn(value: unknown, known: KnownIds): References {
  const search = new Search(known);
  search.visit(value, []);
  return search.found();
}

/** Replaces every reference in the arguments. Values without references are returned unchanged. */
export function resolveReferences(
  value: unknown,
  known: Known,
  lookup: ResultLookup,
  expression: ExpressionLookup = noExpression,
): unknown {
  const resolve = (part: unknown): unknown => {
    if (typeof part === 'string') return fillTemplates(part, known, lookup);
    if (Array.isArray(part))
      return part.map((item) => resolve(item) ?? (item === undefined ? undefined : null));
    if (!isPlainObject(part)) return part;
    const source = expressionIn(part);
    if (source !== undefined) return expression(source);
    const reference = typedReference(part);
    if (reference !== undefined) return pick(lookup(reference.id), reference.id, pointerKeys(reference.path));
    const fields: [string, unknown][] = [];
    for (const [key, item] of Object.entries(part)) {
      const resolved = resolve(item);
      // The value of an expression may be undefined: then there is no such field.
      if (resolved !== undefined || item === undefined) fields.push([key, resolved]);
    }
    return Object.fromEntries(fields);
  };
  return resolve(value);
}

/** Walks arguments and collects their references. */
class Search {
  /** Kept alive like the lanes of the engine: see lanes.ts. */
  static readonly kept = new Search({ has: () => false });

  // The lists are made when they are needed: most arguments refer to nothing.
  private ids: Set<string> | undefined;
  private mentions: Set<string> | undefined;
  private expressions: Set<string> | undefined;
  private usesNames = false;
  private hasEscapes = false;
  private leftovers = 0;
  private shown: string[] | undefined;
  private meant: string | undefined;

  constructor(private readonly known: KnownIds) {}

  found(): References {
    const { ids, mentions, expressions, usesNames, hasEscapes, leftovers } = this;
    const isPlain = ids === undefined && expressions === undefined && leftovers === 0;
    if (isPlain && !usesNames && !hasEscapes) return NO_REFERENCES;
    return {
      ids: ids ?? NO_REFERENCES.ids,
      mentions: mentions ?? NO_REFERENCES.mentions,
      expressions: expressions ?? NO_REFERENCES.expressions,
      usesNames,
      hasEscapes,
      warnings: this.warnings(),
    };
  }

  visit(value: unknown, path: (string | number)[]): void {
    if (path.length > MAX_DEPTH) {
      throw new VolleyError(
        'INVALID_ARGUMENTS',
        `The arguments are nested more than ${MAX_DEPTH} levels deep.`,
      );
    }
    if (typeof value === 'string') this.visitText(value, path);
    else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.visitInner(item, index, path);
    } else if (isPlainObject(value)) {
      const source = expressionIn(value);
      const reference = source === undefined ? typedReference(value) : undefined;
      if (source !== undefined) this.visitExpression(source, path);
      else if (reference !== undefined) this.visitTyped(reference);
      else for (const [key, item] of Object.entries(value)) this.visitInner(item, key, path);
    }
  }

  private visitExpression(source: string, path: readonly (string | number)[]): void {
    this.expressions ??= new Set();
    this.expressions.add(source);
    // Whether it uses the names is not known.
    if (this.known.names !== undefined) this.usesNames = true;
    const ids = this.known.mentions ?? mentionedIds(source, placeText(path), this.known);
    for (const id of ids) {
      this.refersTo(id);
      this.mentions ??= new Set();
      this.mentions.add(id);
    }
  }

  private visitInner(value: unknown, key: string | number, path: (string | number)[]): void {
    path.push(key);
    this.visit(value, path);
    path.pop();
  }

  private visitTyped({ id, path }: TypedReference): void {
    pointerKeys(path);
    if (this.known.names?.has(id) === true) {
      this.usesNames = true;
      return;
    }
    if (!this.known.has(id)) {
      const meant = this.known.nearest?.(id);
      throw new VolleyError(
        'UNKNOWN_DEPENDENCY',
        `The arguments refer to the result of ${show(id)}, but no call in the list has this id.${meant === undefined ? '' : ` Did you mean ${show(meant)}?`}`,
        { id, nearest: meant },
      );
    }
    this.refersTo(id);
  }

  private visitText(text: string, path: readonly (string | number)[]): void {
    for (const part of templates(text)) {
      if (part.isEscape) this.hasEscapes = true;
      else this.visitTemplate(text, part, path);
    }
    for (const [whole] of text.includes('{{') ? text.matchAll(MUSTACHE) : []) this.leave(whole);
  }

  private visitTemplate(text: string, part: Template, path: readonly (string | number)[]): void {
    const { inner } = part;
    const whole = text.slice(part.start, part.end);
    const id = headOf(inner, this.known);
    if (id !== undefined) {
      const parsed = parsePath(inner, id.length);
      if ('problemAt' in parsed) throw badPath(whole, id, parsed.problemAt + 2, path);
      if (this.known.names?.has(id) === true) this.usesNames = true;
      else this.refersTo(id);
      return;
    }
    const [, head] = WITH_PATH.exec(inner) ?? [];
    if (head !== undefined) {
      const meant = this.known.nearest?.(head);
      if (meant !== undefined) throw nearMiss(whole, head, meant, path);
      this.leave(whole);
    } else if (IDENTIFIER.test(inner) && !VARIABLE.test(inner)) {
      // Usually a variable of a script or a template.
      const meant = this.known.nearest?.(inner);
      if (meant !== undefined) this.leave(whole, meant);
    }
  }

  private refersTo(id: string): void {
    this.ids ??= new Set();
    this.ids.add(id);
  }

  private leave(text: string, meant?: string): void {
    this.leftovers++;
    this.meant ??= meant;
    this.shown ??= [];
    if (this.shown.length < MAX_SHOWN) this.shown.push(cut(text));
  }

  private warnings(): string[] {
    const { leftovers, shown = [] } = this;
    if (leftovers === 0) return [];
    const more = leftovers > shown.length ? ', …' : '';
    const hint = this.meant === undefined ? '' : ` Did you mean "\${${this.meant}}"?`;
    return [
      `${countText(leftovers, 'placeholder')} left as written, since no known task is referenced: ${shown.join(', ')}${more}.${hint}`,
    ];
  }
}

type MentionsIn = typeof import('../script/mentions.ts').mentionsIn;

let mentionsIn: MentionsIn | undefined;

/** Thrown where the first expression is found. The parser is loaded only then, and the work is done again. */
export class ParserMissing extends Error {}

/** Loads the parser of expressions. */
export async function loadParser(): Promise<void> {
  ({ mentionsIn } = await import('../script/mentions.ts'));
}

/** The results that an expression mentions. */
interface ExpressionMentions {
  readonly ids: ReadonlySet<string>;
  /** Whether it can reach all results. */
  readonly usesAll: boolean;
}

/**
 * The ids that an expression mentions. Throws if it is invalid, if it mentions something unknown, or if it uses all
 * results, which only the `return` of a batch may do. `place` is the subject of the sentence in the message.
 */
export function mentionedIds(source: string, place: string, known: KnownIds): ReadonlySet<string> {
  const { ids, usesAll } = checkedMentions(source, place, known);
  if (!usesAll) return ids;
  throw new VolleyError(
    'INVALID_EXPRESSION',
    `${place} uses "results" as a whole. Name the results it needs, such as results.id or results['an id']: only the return of a batch may use all.`,
    { expression: cut(source) },
  );
}

/** Like {@link mentionedIds}, but the expression may use all results. */
export function checkedMentions(source: string, place: string, known: KnownIds): ExpressionMentions {
  if (mentionsIn === undefined) throw new ParserMissing();
  try {
    const { ids, unknown, usesAll } = mentionsIn(source, known, known.names);
    for (const id of ids) if (!known.has(id)) throw unknownMention(id, 'no task has this id', known);
    for (const name of unknown) throw unknownMention(name, 'it is neither a task nor a variable', known);
    return { ids, usesAll };
  } catch (error) {
    if (!(error instanceof VolleyError)) throw error;
    throw new VolleyError(error.code, `${place} is invalid: ${error.message}`, {
      ...error.details,
      expression: cut(source),
    });
  }
}

function unknownMention(id: string, problem: string, known: KnownIds): VolleyError {
  const meant = known.nearest?.(id);
  const hint = meant === undefined ? '' : ` Did you mean ${show(meant)}?`;
  return new VolleyError('UNKNOWN_DEPENDENCY', `it mentions ${show(id)}, but ${problem}.${hint}`, {
    id,
    nearest: meant,
  });
}

function noExpression(source: string): never {
  throw internalError(`The expression ${show(source)} was not evaluated.`);
}

function nearMiss(
  reference: string,
  id: string,
  meant: string,
  path: readonly (string | number)[],
): VolleyError {
  return new VolleyError(
    'UNKNOWN_DEPENDENCY',
    `${placeText(path)} has ${cut(reference)}, but no task has the id ${show(id)}; did you mean ${show(meant)}? For the literal text, write $${cut(reference)}.`,
    { id, nearest: meant, reference: cut(reference), path: [...path] },
  );
}

function badPath(
  reference: string,
  id: string,
  column: number,
  path: readonly (string | number)[],
): VolleyError {
  return new VolleyError(
    'INVALID_ARGUMENTS',
    `${placeText(path)} has ${cut(reference)}, a reference to ${show(id)} with an invalid path at character ${column + 1}. Write a path such as .items[0].name, [-1] or ["a key"]. For the literal text, write $${cut(reference)}.`,
    { id, reference: cut(reference), column: column + 1, path: [...path] },
  );
}

function placeText(path: readonly (string | number)[]): string {
  return path.length === 0 ? 'The argument' : `The argument ${pathText(path)}`;
}

function cut(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}

/** Maps, dates and class instances are not searched, because a copy of their fields would not be equal. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // Objects of another realm (a vm, a test) are plain, too: their prototype has no prototype.
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

/** The source of an object with `$expr`, a string, and nothing else. */
function expressionIn(value: object): string | undefined {
  if (!Object.hasOwn(value, '$expr')) return undefined;
  const { $expr: source, ...rest } = value as { $expr: unknown };
  return typeof source === 'string' && Object.keys(rest).length === 0 ? source : undefined;
}

/** A part of the result of a call. */
export interface WholeReference {
  readonly id: string;
  readonly keys: readonly (string | number)[];
}

/** The reference that a string consists of, such as `${list.entries}`. Undefined if there is more in it, or less. */
export function wholeReference(text: string, known: Known): WholeReference | undefined {
  const [first] = templates(text);
  if (first === undefined || first.isEscape || first.start !== 0 || first.end !== text.length)
    return undefined;
  const id = headOf(first.inner, known);
  if (id === undefined) return undefined;
  const parsed = parsePath(first.inner, id.length);
  if ('problemAt' in parsed) throw badPath(text, id, parsed.problemAt + 2, []);
  return { id, keys: parsed.keys };
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

/** A `${…}` of a string, or a `$${`, which is the escape of `${`. */
interface Template {
  readonly start: number;
  readonly end: number;
  readonly isEscape: boolean;
  /** The text between the braces. */
  readonly inner: string;
}

/** Finds all templates of a string, in order. A template contains no brace except in a quoted key. */
function* templates(text: string): Generator<Template> {
  for (let at = text.indexOf('${'); at >= 0; ) {
    if (text[at - 1] === '$') {
      yield { start: at - 1, end: at + 2, isEscape: true, inner: '' };
      at = text.indexOf('${', at + 2);
      continue;
    }
    const end = endOfTemplate(text, at + 2);
    if (end !== undefined) yield { start: at, end, isEscape: false, inner: text.slice(at + 2, end - 1) };
    at = text.indexOf('${', end ?? at + 2);
  }
}

/** Returns the index after the closing brace. */
function endOfTemplate(text: string, start: number): number | undefined {
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '}') return at + 1;
    if (character === '{') return undefined;
    if (character === '[') {
      BRACKETS.lastIndex = at;
      if (BRACKETS.test(text)) at = BRACKETS.lastIndex - 1;
    }
  }
  return undefined;
}

function fillTemplates(text: string, known: Known, lookup: ResultLookup): string {
  let filled = '';
  let last = 0;
  for (const { start, end, isEscape, inner } of templates(text)) {
    const id = isEscape ? undefined : headOf(inner, known);
    if (id === undefined && !isEscape) continue;
    filled += text.slice(last, start) + (id === undefined ? '${' : referredText(inner, id, lookup));
    last = end;
  }
  return last === 0 ? text : filled + text.slice(last);
}

function referredText(inner: string, id: string, lookup: ResultLookup): string {
  const parsed = parsePath(inner, id.length);
  if ('problemAt' in parsed) throw badPath(`\${${inner}}`, id, parsed.problemAt + 2, []);
  const part = pick(lookup(id), id, parsed.keys);
  return typeof part === 'string' ? part : jsonOf(part, id, inner);
}

function jsonOf(part: unknown, id: string, inner: string): string {
  try {
    return JSON.stringify(part) ?? '';
  } catch {
    throw new VolleyError(
      'UNSERIALISABLE_RESULT',
      `"\${${inner}}" cannot be used inside a string: that part of the result of ${id} cannot be converted to JSON, for example because it is circular or contains a BigInt. Refer to a part of it.`,
      { id },
    );
  }
}

/** Returns the longest known id at the start, up to a dot or a bracket. Ids may contain those themselves. */
function headOf(inner: string, known: Known): string | undefined {
  for (const name of known.names ?? [])
    if (inner === name || inner.startsWith(`${name}.`) || inner.startsWith(`${name}[`)) return name;
  if (inner.length <= MAX_CALL_ID_LENGTH && known.has(inner)) return inner;
  for (let end = Math.min(inner.length - 1, MAX_CALL_ID_LENGTH); end > 0; end--) {
    if (inner[end] !== '.' && inner[end] !== '[') continue;
    const id = inner.slice(0, end);
    if (known.has(id)) return id;
  }
  return undefined;
}

/** Parses the keys after the id: `.key`, `.0`, `[0]`, `[-1]` and `["key"]`. */
function parsePath(
  inner: string,
  start: number,
): { readonly keys: (string | number)[] } | { readonly problemAt: number } {
  const keys: (string | number)[] = [];
  for (let at = start; at < inner.length; ) {
    BRACKETS.lastIndex = at;
    KEY.lastIndex = at;
    const [whole, index, quoted] = BRACKETS.exec(inner) ?? [];
    if (whole === undefined) {
      const [plain, key] = KEY.exec(inner) ?? [];
      if (plain === undefined) return { problemAt: at };
      keys.push(key!);
      at += plain.length;
      continue;
    }
    const key = index === undefined ? unquoted(quoted!) : Number(index);
    if (key === undefined) return { problemAt: at };
    keys.push(key);
    at += whole.length;
  }
  return { keys };
}

function unquoted(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}

/** Returns a part of a result, or throws if it has no such part. */
export function pick(result: unknown, id: string, keys: readonly (string | number)[]): unknown {
  let part = result;
  for (const [index, key] of keys.entries()) {
    const own = typeof key === 'number' ? ownIndex(part, key) : key;
    if (own === undefined || typeof part !== 'object' || part === null || !Object.hasOwn(part, own)) {
      throw missing(id, keys, index, part);
    }
    part = (part as Record<string | number, unknown>)[own];
  }
  return part;
}

/** A number in brackets is an index; negative ones count from the end. */
function ownIndex(part: unknown, index: number): number | undefined {
  if (!Array.isArray(part)) return undefined;
  return index < 0 || Object.is(index, -0) ? part.length + index : index;
}

function missing(id: string, keys: readonly (string | number)[], index: number, part: unknown): VolleyError {
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
