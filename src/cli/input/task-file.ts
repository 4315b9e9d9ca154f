import type { Place } from '../../config/problems.ts';
import { nearest } from '../../core/nearest.ts';
import { show } from '../../core/numbers.ts';
import { type Source, taskFileError } from './fault.ts';
import { FORMAT_NAMES, formatOfName, formatOfText } from './formats.ts';
import { type Parsed, parseText } from './parse.ts';
import type { DataPath } from './plain-data.ts';

/** What a file of tasks holds. */
export interface TaskFile {
  readonly name: string;
  /** The tasks as they are written; nothing of them was checked but that each is an object. */
  readonly tasks: readonly PlainObject[];
  /** What stands beside the tasks: `batch`, `max_concurrent`, `timeout`, `fail_fast`; their values are not checked either. */
  readonly settings: PlainObject;
  /** Where a task, or a field of it, stands in the file: for messages on what turns out to be wrong with it. */
  placeOf(taskIndex: number, path?: DataPath): Place | undefined;
}

export type PlainObject = Readonly<Record<string, unknown>>;

/** What a task and a file with settings are known by. */
const TASK_KEY = 'function';
const LIST_KEY = 'tasks';
/** What others call a function. */
const OTHER_WORDS = ['tool', 'tool_name', 'toolName'];
/** What belongs to the envelope of a call, and not to the batch. */
const ENVELOPE_KEY = 'tool_args';

/** What may stand beside the tasks. */
const SETTINGS = ['batch', 'max_concurrent', 'timeout', 'fail_fast'];

/** A key that begins so holds what the tasks refer to, such as defaults with an anchor. */
const ASIDE = 'x-';

/** Takes a text apart: a list of tasks, an object with `tasks` and settings, one task, or a call of the batch tool. */
export function parseTaskFile(source: Source): TaskFile {
  if (source.text.trim() === '') throw taskFileError(source, 'it is empty: there are no tasks in it.');
  const format = formatOfName(source.name) ?? formatOfText(source.text);
  const parsed = parseText(source, format);
  const collector = new Collector(source, parsed);
  collector.add(parsed.data, []);
  if (collector.tasks.length === 0) {
    throw taskFileError(source, `there are no tasks in it (it was read as ${FORMAT_NAMES[format]}).`);
  }
  const { tasks, settings, paths } = collector;
  return {
    name: source.name,
    tasks,
    settings,
    placeOf: (taskIndex, path = []) => parsed.placeOf([...(paths[taskIndex] ?? []), ...path]),
  };
}

class Collector {
  readonly tasks: PlainObject[] = [];
  readonly paths: DataPath[] = [];
  settings: PlainObject = {};

  constructor(
    private readonly source: Source,
    private readonly parsed: Parsed,
  ) {}

  add(value: unknown, path: DataPath): void {
    if (Array.isArray(value)) {
      if (path.length > 0) this.refuse(path, 'a task must be an object, but this is a list');
      for (const [index, item] of value.entries()) this.addItem(item, [index]);
    } else {
      this.addItem(value, path);
    }
  }

  private addItem(value: unknown, path: DataPath): void {
    if (!isObject(value)) {
      this.refuse(
        path,
        `a task must be an object, but this is ${Array.isArray(value) ? 'a list' : show(value)}`,
      );
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
    } else if ('action' in value) {
      const { action } = value;
      this.refuseAction(action, path);
    } else if (path.length > 0) {
      this.refuseTask(value, path);
    } else {
      this.refuseUnknown(value);
    }
  }

  private addList({ [LIST_KEY]: list, action, ...settings }: PlainObject, path: DataPath): void {
    if (action !== undefined && action !== 'add_batch') this.refuseAction(action, path);
    const listPath = [...path, LIST_KEY];
    if (!Array.isArray(list))
      this.refuse(listPath, `"${LIST_KEY}" must be a list of tasks, but it is ${show(list)}`);
    for (const [index, item] of list.entries()) {
      if (isObject(item) && LIST_KEY in item) this.refuse([...listPath, index], 'a task may not hold tasks');
      this.addItem(item, [...listPath, index]);
    }
    const own = Object.entries(settings).filter(([key]) => !key.startsWith(ASIDE));
    const unknown = own.find(([key]) => !SETTINGS.includes(key));
    if (unknown !== undefined) this.refuseSetting(unknown[0], path);
    this.settings = { ...this.settings, ...Object.fromEntries(own) };
  }

  private refuseSetting(key: string, path: DataPath): never {
    const close = nearest(key, SETTINGS);
    const meant = close === undefined ? '' : ` (did you mean "${close}"?)`;
    return this.refuse(
      [...path, key],
      `unknown field ${show(key)} beside "${LIST_KEY}"${meant}; known are ${SETTINGS.join(', ')}, and what begins with ${ASIDE} is passed over`,
    );
  }

  private refuseAction(action: unknown, path: DataPath): never {
    const what = `the action ${show(action)} adds no tasks: only "add" and "add_batch" can be run from a file`;
    return this.refuse([...path, 'action'], what);
  }

  /** One of a list: it is a task, and lacks what it calls. */
  private refuseTask(value: PlainObject, path: DataPath): never {
    const keys = Object.keys(value).slice(0, 20);
    const meant = nearest(TASK_KEY, keys) ?? keys.find((key) => OTHER_WORDS.includes(key));
    return this.refuse(
      meant === undefined ? path : [...path, meant],
      `the task has no "${TASK_KEY}", the name of the tool that it calls${hintOf(meant, TASK_KEY)}`,
    );
  }

  private refuseUnknown(value: PlainObject): never {
    const keys = Object.keys(value).slice(0, 20);
    const meant = nearest(LIST_KEY, keys) ?? nearest(TASK_KEY, keys);
    const word = meant && nearest(meant, [LIST_KEY, TASK_KEY]);
    return this.refuse(
      meant === undefined ? [] : [meant],
      `this is neither a task (an object with "function" and "params") nor an object with a list "tasks"${hintOf(meant, word)}`,
    );
  }

  private refuse(path: DataPath, what: string): never {
    throw taskFileError(this.source, `${what}${what.endsWith('?') ? '' : '.'}`, this.parsed.placeOf(path));
  }
}

function hintOf(written: string | undefined, meant: string | undefined): string {
  return written === undefined || meant === undefined
    ? ''
    : `; did you mean "${meant}" where it says ${show(written)}?`;
}

function isObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
