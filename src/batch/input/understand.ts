import { z } from 'zod';
import { parseExactJson } from '../../core/json-numbers.ts';
import { show } from '../../core/numbers.ts';
import { isObject } from '../../core/values.ts';
import { snakeCase } from '../../core/words.ts';
import { checkInput, SYNONYMS } from './check.ts';
import { DEFAULT_WAIT_SECONDS } from './fields.ts';

/** Arguments in the form that a schema asks for, and how they differ from what was given. */
interface Understood {
  readonly value: unknown;
  /** Such as `tasks[].tool → function`. */
  readonly notes: readonly string[];
}

/** The same in another unit. */
const MILLISECONDS: Readonly<Record<string, string>> = { timeout_ms: 'timeout', wait_ms: 'wait' };

/** What `true` stands for where seconds are expected, by field. */
const TRUE_SECONDS: Readonly<Record<string, number>> = { wait: DEFAULT_WAIT_SECONDS };

const NUMBER = /^\s*[+-]?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i;
const IDENTIFIER = /^[A-Za-z_][\w.-]*$/;
const MAX_NOTES = 20;

/**
 * Validates arguments as models write them. What does not match the schema is read as what it can only mean, such as
 * `"5"` for 5; everything else is refused. What matches is never reinterpreted.
 */
export function readInput<S extends z.ZodType>(
  schema: S,
  action: string,
  given: unknown,
): { readonly args: z.output<S>; readonly understood: readonly string[] } {
  const parsed = schema.safeParse(given);
  if (parsed.success) return { args: parsed.data, understood: [] };
  const { value, notes } = understand(schema, given);
  return { args: checkInput(schema, action, value), understood: notes };
}

/** Reads arguments as {@link readInput} does, without validating them. */
export function understand(schema: z.ZodType, given: unknown): Understood {
  if (schema.safeParse(given).success) return { value: given, notes: [] };
  const reading = new Reading();
  const value = reading.read(schema, given, '');
  return { value, notes: reading.notes() };
}

/** Adds what was understood to an answer, for models and for programs. */
export function withUnderstood<A extends { readonly text: string; readonly data: object }>(
  answer: A,
  understood: readonly string[],
): A {
  if (understood.length === 0) return answer;
  return {
    ...answer,
    text: `Understood: ${understood.join('; ')}.\n${answer.text}`,
    data: { ...answer.data, understood },
  };
}

type Fields = Readonly<Record<string, unknown>>;
type Shape = Readonly<Record<string, z.core.$ZodType>>;

class Reading {
  private readonly counts = new Map<string, number>();

  notes(): string[] {
    const texts = [...this.counts].map(([note, count]) => (count === 1 ? note : `${note} (${count} times)`));
    const more = texts.length - MAX_NOTES;
    return more > 0 ? [...texts.slice(0, MAX_NOTES), `and ${more} more`] : texts;
  }

  /** Returns the value that the schema asks for, or the given one. Undefined means that it is left out. */
  read(schema: z.core.$ZodType, value: unknown, at: string): unknown {
    const { def } = (schema as z.core.$ZodTypes)._zod;
    switch (def.type) {
      case 'optional':
      case 'default':
        return this.isUnset(value, at) ? undefined : this.read(def.innerType, value, at);
      case 'pipe':
        return this.read(def.in, value, at);
      case 'object':
        return this.readObject(def.shape, value, at);
      case 'array':
        return this.readList(def.element, value, at);
      case 'union':
        return this.readUnion(def.options, value, at);
      case 'record':
      case 'custom':
        return isObjectSchema(schema) ? this.fromJson(value, isObject, 'object', at) : value;
      case 'enum':
        return this.readChoice(Object.values(def.entries), value, at);
      case 'literal':
        return this.readChoice(def.values, value, at);
      case 'number':
        return this.readNumber(value, at);
      case 'boolean':
        return this.readFlag(value, at);
      case 'string':
        return Number.isSafeInteger(value) ? this.changed(at, value, String(value)) : value;
      default:
        return value;
    }
  }

  private note(text: string): void {
    this.counts.set(text, (this.counts.get(text) ?? 0) + 1);
  }

  private changed<T>(at: string, from: unknown, to: T): T {
    this.note(`${at}: ${show(from)} → ${show(to)}`);
    return to;
  }

  /** Whether an option was given as absent. */
  private isUnset(value: unknown, at: string): boolean {
    if (value !== null && !(at === 'all' && plainFlag(value) === false)) return false;
    this.note(`${at}: ${String(value)} → not set`);
    return true;
  }

  private readObject(shape: Shape, value: unknown, at: string): unknown {
    const read = this.fromJson(value, isObject, 'object', at);
    if (!isObject(read)) return read;
    const fields = this.renamed(shape, read, at);
    const entries = Object.entries(fields).map(([name, one]) => {
      const schema = Object.hasOwn(shape, name) ? shape[name] : undefined;
      return [name, schema === undefined ? one : this.read(schema, one, placeOf(at, name))] as const;
    });
    return Object.fromEntries(entries.filter(([, one]) => one !== undefined));
  }

  /** Replaces unknown names of fields by known ones. Nothing is replaced if two names stand for the same field. */
  private renamed(shape: Shape, given: Fields, at: string): Fields {
    const names = new Map<string, string>();
    const taken = new Map<string, number>();
    for (const name of Object.keys(given)) {
      const target = Object.hasOwn(shape, name) ? name : meantField(shape, name);
      names.set(name, target ?? name);
      if (target !== undefined) taken.set(target, (taken.get(target) ?? 0) + 1);
    }
    // What other tool APIs call the name is the function.
    if (Object.hasOwn(shape, 'function') && !taken.has('function') && isFunctionName(given['name']))
      names.set('name', 'function');
    const entries = Object.entries(given).map(([name, value]) => {
      const target = names.get(name)!;
      if (target === name || (taken.get(target) ?? 0) > 1) return [name, value];
      const isMs = Object.hasOwn(MILLISECONDS, snakeCase(name)) && NUMBER.test(String(value));
      const read = isMs ? Number(value) / 1000 : value;
      this.note(
        `${placeOf(at, name)}${isMs ? `: ${show(value)}` : ''} → ${target}${isMs ? `: ${read}` : ''}`,
      );
      return [target, read];
    });
    return Object.fromEntries(entries);
  }

  private readList(element: z.core.$ZodType, value: unknown, at: string): unknown {
    const isOfObjects = (element as z.core.$ZodTypes)._zod.def.type === 'object';
    const read = this.fromJson(
      value,
      (one) => Array.isArray(one) || (isOfObjects && isObject(one)),
      'list',
      at,
    );
    const list = Array.isArray(read) ? read : this.listOf(element, read, at);
    return Array.isArray(list) ? list.map((one) => this.read(element, one, `${at}[]`)) : list;
  }

  /** Reads a single value as a list of it. A string with commas may also be a list of several, unless they are words. */
  private listOf(element: z.core.$ZodType, value: unknown, at: string): unknown {
    const { def } = (element as z.core.$ZodTypes)._zod;
    const isOne =
      def.type === 'object'
        ? isObject(value)
        : def.type === 'string'
          ? typeof value === 'number' || (typeof value === 'string' && value !== '' && !value.includes(','))
          : def.type === 'enum' && typeof value === 'string';
    if (!isOne) return value;
    this.note(`${at}: one value → list`);
    return def.type === 'enum' ? (value as string).split(',').map((word) => word.trim()) : [value];
  }

  /** Reads a value as the first alternative that it fits. */
  private readUnion(options: readonly z.core.$ZodType[], value: unknown, at: string): unknown {
    if (options.some((option) => z.safeParse(option, value).success)) return value;
    for (const option of options) {
      // A number may be a mistake, such as one for a list.
      if (typeof value === 'number' && (option as z.core.$ZodTypes)._zod.def.type === 'string') continue;
      const reading = new Reading();
      const read = reading.read(option, value, at);
      if (!z.safeParse(option, read).success) continue;
      for (const note of reading.counts.keys()) this.note(note);
      return read;
    }
    return value;
  }

  private readChoice(choices: readonly unknown[], value: unknown, at: string): unknown {
    if (choices.includes(value) || typeof value !== 'string') return value;
    const found = choices.filter((choice) => plainWord(String(choice)) === plainWord(value));
    return found.length === 1 ? this.changed(at, value, found[0]) : value;
  }

  private readNumber(value: unknown, at: string): unknown {
    if (typeof value === 'string' && NUMBER.test(value)) return this.changed(at, value, Number(value));
    const flag = plainFlag(value);
    const seconds = Object.hasOwn(TRUE_SECONDS, at) ? TRUE_SECONDS[at] : undefined;
    return flag === undefined || seconds === undefined ? value : this.changed(at, value, flag ? seconds : 0);
  }

  private readFlag(value: unknown, at: string): unknown {
    if (typeof value === 'boolean') return value;
    const flag = value === 1 ? true : value === 0 ? false : plainFlag(value);
    return flag === undefined ? value : this.changed(at, value, flag);
  }

  private fromJson(value: unknown, fits: (read: unknown) => boolean, kind: string, at: string): unknown {
    if (typeof value !== 'string') return value;
    const read = parsedOrNot(value);
    if (!fits(read)) return value;
    this.note(`${at === '' ? 'the request' : at}: JSON text → ${kind}`);
    return read;
  }
}

function meantField(shape: Shape, name: string): string | undefined {
  const plain = snakeCase(name);
  if (Object.hasOwn(shape, plain)) return plain;
  const inOtherUnit = Object.hasOwn(MILLISECONDS, plain) ? [MILLISECONDS[plain]!] : [];
  const targets = Object.hasOwn(SYNONYMS, plain) ? SYNONYMS[plain]! : inOtherUnit;
  return targets.find((target) => Object.hasOwn(shape, target));
}

function plainWord(word: string): string {
  return word.trim().toLowerCase().replace(/[_\s]/g, '-');
}

function plainFlag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' || !/^\s*(true|false)\s*$/i.test(value)) return undefined;
  return value.trim().toLowerCase() === 'true';
}

function isFunctionName(name: unknown): boolean {
  return typeof name === 'string' && IDENTIFIER.test(name);
}

function isObjectSchema(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'record' || z.globalRegistry.get(schema)?.['type'] === 'object';
}

function parsedOrNot(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

function placeOf(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
