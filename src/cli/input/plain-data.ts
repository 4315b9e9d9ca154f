import { TomlDate } from 'smol-toml';
import type { FilePlace } from '../../config/problems.ts';
import { inexactText, isExactInteger } from '../../core/json-numbers.ts';

export type DataPath = readonly (string | number)[];

/** A parsed text. */
export interface Parsed {
  readonly data: unknown;
  /** Finds a value for a message. Takes up to as long as parsing. */
  readonly placeOf: (path: DataPath) => FilePlace | undefined;
}

/** Why data cannot be used. */
export class DataProblem extends Error {
  constructor(
    message: string,
    readonly path: DataPath,
  ) {
    super(message);
  }
}

/** No tool takes deeper arguments, and later steps are recursive. */
export const MAX_NESTING = 200;
export const TOO_NESTED = `lists and objects are nested deeper than ${MAX_NESTING} levels`;
/** A text cannot hold more values than characters, except by YAML aliases. These may add this many. */
const MAX_ALIASED_VALUES = 1_000_000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

/**
 * Converts data to what JSON can say: dates become strings. Refuses numbers that JSON lacks, deep nesting, and aliases
 * that multiply without measure.
 */
export function toPlainData(data: unknown, textLength: number): unknown {
  return new Walker(textLength + MAX_ALIASED_VALUES).visit(data, []);
}

class Walker {
  private values = 0;
  private characters = 0;

  constructor(private readonly maxValues: number) {}

  visit(value: unknown, path: (string | number)[]): unknown {
    this.values++;
    if (typeof value === 'string') this.characters += value.length;
    if (this.values > this.maxValues || this.characters > MAX_CHARACTERS) {
      throw new DataProblem('its aliases expand to too much data: shorten it, or use JSON Lines.', []);
    }
    if (typeof value === 'number' && !Number.isFinite(value)) {
      throw new DataProblem(`${value} is not a finite number.`, [...path]);
    }
    if (typeof value === 'bigint') {
      if (isExactInteger(value)) return Number(value);
      throw new DataProblem(`${inexactText(String(value))}.`, [...path]);
    }
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof TomlDate) return value.toISOString();
    if (path.length >= MAX_NESTING) throw new DataProblem(`${TOO_NESTED}.`, path.slice(0, 8));
    if (Array.isArray(value)) this.visitList(value, path);
    else this.visitObject(value as Record<string, unknown>, path);
    return value;
  }

  private visitList(list: unknown[], path: (string | number)[]): void {
    for (let index = 0; index < list.length; index++) {
      path.push(index);
      list[index] = this.visit(list[index], path);
      path.pop();
    }
  }

  private visitObject(object: Record<string, unknown>, path: (string | number)[]): void {
    for (const key of Object.keys(object)) {
      this.characters += key.length;
      path.push(key);
      const before = object[key];
      const after = this.visit(before, path);
      if (after !== before) object[key] = after;
      path.pop();
    }
  }
}
