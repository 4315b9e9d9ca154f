import { posix } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { parseExactJson } from '../../core/json-numbers.ts';
import { nearest } from '../../core/nearest.ts';
import { printableLine } from '../../core/printable-text.ts';
import { isObject } from '../../core/values.ts';
import { findFiles, templateError } from './find-files.ts';
import { findJsonProblem } from './json.ts';
import { DataProblem, toPlainData } from './plain-data.ts';
import { placeAt } from './source.ts';
import type { PlainObject } from './task-file.ts';

/** A task for each file. */
export interface TaskTemplate {
  /** Globs and paths. A leading `!` excludes files. */
  readonly each: readonly string[];
  readonly function: string;
  /** A JSON object. Its strings may contain `{}`, `{name}`, `{dir}`, `{ext}` and `{index}` (from 1). */
  readonly params: string;
  /** Arguments that are the same for all files and have no placeholders. */
  readonly fixedParams?: PlainObject;
  /** With the same placeholders. Default: `{}`, the path. */
  readonly name?: string;
  /** Other fields for all tasks. */
  readonly shared?: PlainObject;
}

const MAX_NAME_LENGTH = 200;

/** The tasks of a template, sorted by path. */
export async function tasksFromTemplate(template: TaskTemplate, folder: string): Promise<PlainObject[]> {
  const name = new TextTemplate(template.name ?? '{}', 'name');
  const params = new ParamsTemplate(template.params);
  const files = await findFiles(template.each, folder);
  if (!params.namesTheFile && files.length > 1) {
    throw templateError(
      'The params are the same for every file. Write {} for its path, such as {"file_path":"{}"}.',
    );
  }
  return files.map((path, place) => ({
    ...template.shared,
    name: nameText(name.fill(path, place + 1)),
    function: template.function,
    params: { ...params.fill(path, place + 1), ...template.fixedParams },
  }));
}

/** Makes a path a name: keeps the end of a long one, and removes what breaks lines. */
function nameText(text: string): string {
  const end = text.length > MAX_NAME_LENGTH ? `…${text.slice(1 - MAX_NAME_LENGTH)}` : text;
  return printableLine(end) || '…';
}

/** Params are parsed before paths are filled in, so that no file name can break them. */
class ParamsTemplate {
  namesTheFile = false;
  private readonly build: (path: string, index: number) => unknown;

  constructor(text: string) {
    this.build = this.compile(parseParams(text), 'params');
  }

  fill(path: string, index: number): object {
    return this.build(path, index) as object;
  }

  private compile(value: unknown, where: string): (path: string, index: number) => unknown {
    if (typeof value === 'string') {
      const template = new TextTemplate(value, where);
      if (template.namesTheFile) this.namesTheFile = true;
      return (path, index) => template.fillValue(path, index);
    }
    if (Array.isArray(value)) {
      const items = value.map((item, index) => this.compile(item, `${where}[${index}]`));
      return (path, index) => items.map((build) => build(path, index));
    }
    if (typeof value === 'object' && value !== null) {
      const fields = Object.entries(value).map(
        ([key, field]) => [key, this.compile(field, `${where}.${key}`)] as const,
      );
      return (path, index) => Object.fromEntries(fields.map(([key, build]) => [key, build(path, index)]));
    }
    return () => value;
  }
}

function parseParams(text: string): object {
  let data: unknown;
  try {
    data = toPlainData(parseExactJson(text), text.length);
  } catch (error) {
    if (error instanceof DataProblem) throw templateError(`params: ${error.message}`);
    if (error instanceof VolleyError) throw templateError(`params: ${error.message}`, error.details);
    const { offset, problem } = findJsonProblem(text);
    const { line, column } = placeAt(text, offset);
    const where = text.includes('\n') ? `line ${line}, column ${column}` : `column ${column}`;
    throw templateError(`The params are not valid JSON (${where}): ${problem}.`, {
      params: text.slice(0, 200),
    });
  }
  if (!isObject(data)) {
    throw templateError('The params must be an object, such as {"file_path":"{}"}.', {
      params: text.slice(0, 200),
    });
  }
  return data;
}

/** `{}` is the path, and so is `{dir}/{name}{ext}`. */
const PLACEHOLDERS: Readonly<Record<string, (path: string, index: number) => string>> = {
  '': (path) => path,
  name: (path) => posix.basename(path, posix.extname(path)),
  dir: (path) => posix.dirname(path),
  ext: (path) => posix.extname(path),
  index: (_path, index) => String(index),
};
const COUNTER = 'index';

/** A text with placeholders. `{{` and `}}` are braces. */
class TextTemplate {
  /** Text at even indexes, names of placeholders at odd ones. */
  private readonly parts: readonly string[];

  constructor(text: string, where: string) {
    this.parts = split(text, where);
  }

  /** Whether the text differs between files. */
  get namesTheFile(): boolean {
    return this.parts.some((part, place) => place % 2 === 1 && part !== 'ext');
  }

  fill(path: string, index: number): string {
    return this.parts
      .map((part, place) => (place % 2 === 0 ? part : PLACEHOLDERS[part]!(path, index)))
      .join('');
  }

  /** `{index}` alone becomes a number. */
  fillValue(path: string, index: number): string | number {
    const isCounter = this.parts.length === 3 && this.parts.join('') === COUNTER && this.parts[1] === COUNTER;
    return isCounter ? index : this.fill(path, index);
  }
}

function split(text: string, where: string): string[] {
  const parts = [''];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if ((character === '{' || character === '}') && text[at + 1] === character) {
      parts[parts.length - 1] += character;
      at++;
    } else if (character === '{') {
      const end = text.indexOf('}', at);
      const name = end < 0 ? undefined : text.slice(at + 1, end);
      if (name === undefined || !Object.hasOwn(PLACEHOLDERS, name)) throw unknown(text, at, name, where);
      parts.push(name, '');
      at = end;
    } else {
      parts[parts.length - 1] += character;
    }
  }
  return parts;
}

function unknown(text: string, at: number, name: string | undefined, where: string) {
  const known = Object.keys(PLACEHOLDERS);
  const meant = name === undefined ? undefined : nearest(name, known);
  const hint = meant === undefined ? 'write "{{" for a brace' : `did you mean "{${meant}}"?`;
  const shown = name === undefined || name.length > 40 ? `${text.slice(at, at + 20)}…` : `{${name}}`;
  const list = known.map((one) => `{${one}}`).join(', ');
  return templateError(
    `${where}: unknown placeholder ${JSON.stringify(shown)} (known: ${list}): ${hint}.`.replace('?.', '?'),
    {
      placeholder: shown,
    },
  );
}
