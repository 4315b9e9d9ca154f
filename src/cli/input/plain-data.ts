import { TomlDate } from 'smol-toml';
import { inexactText, isExactInteger } from '../../core/json-numbers.ts';

export type DataPath = readonly (string | number)[];

/** Why data cannot be handed on as it is. */
export class DataProblem extends Error {
  constructor(
    message: string,
    readonly path: DataPath,
  ) {
    super(message);
  }
}

/** No tool takes arguments that are nested deeper, and what comes later works by recursion. */
export const DEEPEST = 200;
export const TOO_DEEP = `lists and objects are nested deeper than ${DEEPEST} levels.`;
/** A text cannot hold more values than characters; aliases may make so many more of them. */
const MORE_VALUES = 1_000_000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

/**
 * Data as JSON could say it: dates become texts, and a number that JSON does not have or hold is a problem. What is nested too
 * deep, or grows without measure because it repeats itself, is one as well.
 */
export function toPlainData(data: unknown, textLength: number): unknown {
  return new Walker(textLength + MORE_VALUES).visit(data, []);
}

class Walker {
  private values = 0;
  private characters = 0;

  constructor(private readonly maxValues: number) {}

  visit(value: unknown, path: (string | number)[]): unknown {
    this.values++;
    if (typeof value === 'string') this.characters += value.length;
    if (this.values > this.maxValues || this.characters > MAX_CHARACTERS) {
      throw new DataProblem('its aliases stand for too much: write less of it, or use JSON Lines.', []);
    }
    if (typeof value === 'number' && !Number.isFinite(value)) {
      throw new DataProblem(`${value} is not a number that a tool can be given: use a finite one.`, [
        ...path,
      ]);
    }
    if (typeof value === 'bigint') {
      if (isExactInteger(value)) return Number(value);
      throw new DataProblem(`${inexactText(String(value))}.`, [...path]);
    }
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof TomlDate) return value.toISOString();
    if (path.length >= DEEPEST) {
      throw new DataProblem(TOO_DEEP, path.slice(0, 8));
    }
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
