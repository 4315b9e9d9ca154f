import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { returnTask } from '../../batch/input/fields.ts';
import { type FilePlace, readingProblem } from '../../config/problems.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { show } from '../../core/numbers.ts';
import { isObject } from '../../core/values.ts';
import { parseTaskSource, taskFormatOf } from './parse.ts';
import type { DataPath } from './plain-data.ts';
import { type TaskSource, taskFileError } from './source.ts';

/** A parsed task file. */
export interface TaskFile {
  readonly name: string;
  /** As written: only that each is an object was checked. */
  readonly tasks: readonly PlainObject[];
  /** `batch`, `max_concurrent`, `timeout` and `fail_fast`, unchecked. */
  readonly settings: PlainObject;
  /** Finds a task, or a field of it, for messages. */
  placeOf(taskIndex: number, path?: DataPath): FilePlace | undefined;
}

export type PlainObject = Readonly<Record<string, unknown>>;

const TASK_KEY = 'function';
const LIST_KEY = 'tasks';
/** What other programs call it. */
const TASK_KEY_SYNONYMS = ['tool', 'tool_name', 'toolName'];
/** The envelope of a tool call. */
const ENVELOPE_KEY = 'tool_args';

/** The fields next to the tasks. */
const SETTINGS = ['batch', 'max_concurrent', 'timeout', 'fail_fast'];
/** An expression: what the batch returns. */
const RETURN_KEY = 'return';

/** Such fields are ignored. They may hold YAML anchors. */
const EXTENSION_PREFIX = 'x-';

/** Parses a list of tasks, an object with `tasks` and settings, one task, or a call of the batch tool. */
export function parseTaskFile(source: TaskSource): TaskFile {
  if (source.text.trim() === '') throw taskFileError(source, 'the file is empty.');
  const format = taskFormatOf(source);
  const parsed = parseTaskSource(source, format);
  const collector = new Collector((problem, path) => taskFileError(source, problem, parsed.placeOf(path)));
  collector.add(parsed.data, []);
  const returned = collector.takeReturn();
  if (returned !== undefined && collector.tasks.length > 0) collector.addItem(returned.task, returned.path);
  if (collector.tasks.length === 0) {
    throw taskFileError(source, `the file has no tasks (it was read as ${format.name}).`);
  }
  const { tasks, settings, paths } = collector;
  return {
    name: source.name,
    tasks,
    settings,
    placeOf: (taskIndex, path = []) => parsed.placeOf([...(paths[taskIndex] ?? []), ...path]),
  };
}

interface ReturnedTask {
  readonly task: PlainObject;
  readonly path: DataPath;
}

/** Collects the tasks of parsed data. */
export class Collector {
  readonly tasks: PlainObject[] = [];
  readonly paths: DataPath[] = [];
  settings: PlainObject = {};
  private returned: ReturnedTask | undefined;

  constructor(private readonly errorAt: (problem: string, path: DataPath) => VolleyError) {}

  add(value: unknown, path: DataPath): void {
    if (Array.isArray(value)) {
      if (path.length > 0) this.refuse(path, 'a task must be an object, not a list');
      for (const [index, item] of value.entries()) this.addItem(item, [index]);
    } else {
      this.addItem(value, path);
    }
  }

  addItem(value: unknown, path: DataPath): void {
    if (!isObject(value)) {
      this.refuse(path, `a task must be an object, not ${Array.isArray(value) ? 'a list' : show(value)}`);
    }
    if (ENVELOPE_KEY in value) {
      this.addItem(value[ENVELOPE_KEY], [...path, ENVELOPE_KEY]);
    } else if (LIST_KEY in value) {
      this.addList(value, path);
    } else if (TASK_KEY in value) {
      const { action, ...task } = value;
      if (action !== undefined && action !== 'add') this.refuseAction(action, path);
      this.tasks.push(task);
      this.paths.push(path);
    } else if (Object.keys(value).join() === RETURN_KEY) {
      // A line of JSON Lines, which have no settings.
      this.noteReturn(value[RETURN_KEY], [...path, RETURN_KEY]);
    } else if ('action' in value) {
      const { action } = value;
      this.refuseAction(action, path);
    } else if (path.length > 0) {
      this.refuseTask(value, path);
    } else {
      this.refuseUnknown(value);
    }
  }

  /** Returns the task that computes what the batch returns, if there is one. It goes after all others. */
  takeReturn(): ReturnedTask | undefined {
    const { returned } = this;
    this.returned = undefined;
    return returned;
  }

  private noteReturn(expression: unknown, path: DataPath): void {
    if (typeof expression !== 'string')
      this.refuse(
        path,
        `"${RETURN_KEY}" must be a string with a JavaScript expression, not ${show(expression)}`,
      );
    if (this.returned !== undefined) this.refuse(path, `a file can have only one "${RETURN_KEY}"`);
    this.returned = { task: { ...returnTask(expression) }, path };
  }

  private addList(
    { [LIST_KEY]: list, action, [RETURN_KEY]: returned, ...settings }: PlainObject,
    path: DataPath,
  ): void {
    if (returned !== undefined) this.noteReturn(returned, [...path, RETURN_KEY]);
    if (action !== undefined && action !== 'add_batch') this.refuseAction(action, path);
    const listPath = [...path, LIST_KEY];
    if (!Array.isArray(list))
      this.refuse(listPath, `"${LIST_KEY}" must be a list of tasks, not ${show(list)}`);
    for (const [index, item] of list.entries()) {
      if (isObject(item) && LIST_KEY in item)
        this.refuse([...listPath, index], 'a task cannot contain tasks');
      this.addItem(item, [...listPath, index]);
    }
    const own = Object.entries(settings).filter(([key]) => !key.startsWith(EXTENSION_PREFIX));
    const unknown = own.find(([key]) => !SETTINGS.includes(key));
    if (unknown !== undefined) this.refuseSetting(unknown[0], path);
    this.settings = { ...this.settings, ...Object.fromEntries(own) };
  }

  private refuseSetting(key: string, path: DataPath): never {
    const close = nearest(key, [...SETTINGS, RETURN_KEY]);
    const meant = close === undefined ? '' : ` (did you mean "${close}"?)`;
    return this.refuse(
      [...path, key],
      `unknown field ${show(key)} next to "${LIST_KEY}"${meant}; allowed: ${[...SETTINGS, RETURN_KEY].join(', ')}, and ignored fields that begin with "${EXTENSION_PREFIX}"`,
    );
  }

  private refuseAction(action: unknown, path: DataPath): never {
    const what = `the action ${show(action)} does not add tasks: a file may only use "add" and "add_batch"`;
    return this.refuse([...path, 'action'], what);
  }

  /** A list item without the name of its tool. */
  private refuseTask(value: PlainObject, path: DataPath): never {
    const keys = Object.keys(value).slice(0, 20);
    const meant = nearest(TASK_KEY, keys) ?? keys.find((key) => TASK_KEY_SYNONYMS.includes(key));
    return this.refuse(
      meant === undefined ? path : [...path, meant],
      `the task has no "${TASK_KEY}", the name of its tool${hintOf(meant, TASK_KEY)}`,
    );
  }

  private refuseUnknown(value: PlainObject): never {
    const keys = Object.keys(value).slice(0, 20);
    const meant = nearest(LIST_KEY, keys) ?? nearest(TASK_KEY, keys);
    const word = meant && nearest(meant, [LIST_KEY, TASK_KEY]);
    return this.refuse(
      meant === undefined ? [] : [meant],
      `expected a task (an object with "function" and "params") or an object with a list "tasks"${hintOf(meant, word)}`,
    );
  }

  private refuse(path: DataPath, problem: string): never {
    throw this.errorAt(`${problem}${problem.endsWith('?') ? '' : '.'}`, path);
  }
}

function hintOf(written: string | undefined, meant: string | undefined): string {
  return written === undefined || meant === undefined
    ? ''
    : `; did you mean "${meant}" instead of ${show(written)}?`;
}

const MAX_BYTES = 64 * 1024 * 1024;
const STANDARD_INPUT = '-';

/** Reads tasks from a file, or from standard input for `-`. */
export async function readTaskFile(
  path: string,
  input: AsyncIterable<Uint8Array | string> = process.stdin,
  cwd = process.cwd(),
): Promise<TaskFile> {
  const isInput = path === STANDARD_INPUT;
  const name = isInput ? 'standard input' : path;
  const bytes = isInput ? await collect(name, input) : await readBytes(path, cwd);
  return parseTaskFile({ name, text: decode(name, bytes) });
}

async function readBytes(path: string, cwd: string): Promise<Uint8Array> {
  const file = await open(resolve(cwd, path)).catch((error: unknown) => {
    throw unreadable(path, readingProblem(error), error);
  });
  try {
    // A pipe such as <(command) has no size, so bytes are counted while reading.
    return await collect(path, file.createReadStream({ autoClose: false }));
  } catch (error) {
    throw error instanceof VolleyError ? error : unreadable(path, readingProblem(error), error);
  } finally {
    await file.close();
  }
}

async function collect(name: string, input: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    length += bytes.length;
    if (length > MAX_BYTES)
      throw unreadable(
        name,
        'it is larger than 64 MB. Write the tasks to a JSON Lines file (.jsonl) and name that: it is read in parts.',
      );
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function decode(name: string, bytes: Uint8Array): string {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isUtf16) throw unreadable(name, 'the file is UTF-16. Save it as UTF-8.');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw unreadable(name, 'the file is not valid UTF-8.', error);
  }
}

function unreadable(name: string, problem: string, cause?: unknown) {
  return taskFileError({ name, text: '' }, problem, undefined, cause);
}
