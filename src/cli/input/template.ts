import { VolleyError } from '../../core/errors.ts';
import { parseExactJson } from '../../core/json-numbers.ts';
import { printableLine } from '../../core/printable-text.ts';
import { placeAt } from './fault.ts';
import { findFiles, templateError } from './find-files.ts';
import { findJsonFault } from './json-fault.ts';
import { TextTemplate } from './placeholders.ts';
import { DataProblem, toPlainData } from './plain-data.ts';
import type { PlainObject } from './task-file.ts';

/** One task for each file. */
export interface TaskTemplate {
  /** Globs and paths, relative to the folder; with `!` before it a glob takes files out again. */
  readonly each: readonly string[];
  readonly function: string;
  /** An object as JSON text; its texts may hold `{}`, `{name}`, `{dir}`, `{ext}` and `{index}` (from 1). */
  readonly params: string;
  /** The same placeholders. Default `{}`, the path. */
  readonly name?: string;
  /** What all the tasks have besides: `priority`, `max_retries` and so on. */
  readonly shared?: PlainObject;
}

const LONGEST_NAME = 200;

/** The tasks that a template gives for the files that there are, in the order of their paths. */
export async function tasksFromTemplate(template: TaskTemplate, folder: string): Promise<PlainObject[]> {
  const name = new TextTemplate(template.name ?? '{}', 'name');
  const params = new ParamsTemplate(template.params);
  const files = await findFiles(template.each, folder);
  if (!params.namesTheFile && files.length > 1) {
    throw templateError(
      'The params are the same for every file: put {} where its path belongs, such as {"file_path":"{}"}.',
    );
  }
  return files.map((path, place) => ({
    ...template.shared,
    name: nameText(name.fill(path, place + 1)),
    function: template.function,
    params: params.fill(path, place + 1),
  }));
}

/** A name is for people: a path may be longer, of which the end tells more, and may hold what breaks lines. */
function nameText(text: string): string {
  const end = text.length > LONGEST_NAME ? `…${text.slice(1 - LONGEST_NAME)}` : text;
  return printableLine(end) || '…';
}

/** Params are read as JSON before anything is put in, so that no name of a file can break them. */
class ParamsTemplate {
  namesTheFile = false;
  private readonly build: (path: string, index: number) => unknown;

  constructor(text: string) {
    this.build = this.compile(parseParams(text), 'params');
  }

  fill(path: string, index: number): unknown {
    return this.build(path, index);
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
    const { offset, what } = findJsonFault(text);
    const { line, column } = placeAt(text, offset);
    const where = text.includes('\n') ? `line ${line}, column ${column}` : `column ${column}`;
    throw templateError(`The params are not valid JSON (${where}): ${what}.`, { params: text.slice(0, 200) });
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw templateError('The params must be an object, such as {"file_path":"{}"}.', {
      params: text.slice(0, 200),
    });
  }
  return data;
}
