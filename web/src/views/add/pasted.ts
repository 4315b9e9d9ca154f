/** A batch as it is pasted: tasks, and what the file formats of `volley run` allow beside them. */
export interface BatchDraft {
  readonly tasks: readonly unknown[];
  readonly batch?: string;
  readonly max_concurrent?: number;
  readonly timeout?: number;
  readonly fail_fast?: boolean;
}

const FIELDS = ['batch', 'tasks', 'max_concurrent', 'timeout', 'fail_fast'];

/** Reads JSON or JSON Lines: a list of tasks, or an object with `tasks`. What is wrong is said with what to do. */
export function batchIn(text: string): BatchDraft {
  if (text.trim() === '') throw new Error('Paste a list of tasks as JSON.');
  const value = parse(text.trim());
  if (Array.isArray(value)) return { tasks: value };
  if (typeof value !== 'object' || value === null)
    throw new Error('A batch is a list of tasks, or an object with "tasks".');
  if (!('tasks' in value)) {
    if ('function' in value) return { tasks: [value] };
    throw new Error('The object has no "tasks".');
  }
  if (!Array.isArray(value.tasks)) throw new Error('"tasks" must be a list.');
  const unknown = Object.keys(value).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) throw new Error(`"${unknown}" is not known here: use ${FIELDS.join(', ')}.`);
  return value as BatchDraft;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length > 1 && lines.every(isObject)) return lines.map((line) => JSON.parse(line));
    throw new Error(`This is no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function isObject(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
