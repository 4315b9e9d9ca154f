import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { taskPages } from '../../batch/context.ts';
import { VolleyError } from '../../core/errors.ts';
import type { Store } from '../../store/store.ts';
import type { Io } from '../output/io.ts';
import { type PlainObject, readTaskFile, type TaskFile } from './task-file.ts';
import { tasksFromTemplate } from './template.ts';

/** The arguments of `run` and `simulate` that name tasks. */
export interface RunSource {
  readonly file: string | undefined;
  readonly each: readonly string[] | undefined;
  readonly function: string | undefined;
  readonly params: string | undefined;
}

export interface RunTasks {
  readonly batch: string;
  readonly tasks: readonly PlainObject[];
  /** Undefined if they come from a template. */
  readonly file?: Pick<TaskFile, 'name' | 'placeOf'>;
  /** `max_concurrent`, `timeout` and `fail_fast` of the file. */
  readonly settings: PlainObject;
}

/** Long enough that 100,000 tasks do not collide. */
const ID_LENGTH = 12;

/** Collects the tasks of a run. Ids follow from the content, so that the same command resumes the same tasks. */
export async function collectTasks(source: RunSource, { cwd, stdin }: Io): Promise<RunTasks> {
  const { file, each, function: tool, params } = source;
  if (each !== undefined) {
    if (file !== undefined) throw usage('Give either a task file or --each, not both.');
    if (tool === undefined) throw usage('--each needs --function: the tool to call for each file.');
    const template = { each, function: tool, params: params ?? '{}' };
    const tasks = withIds(await tasksFromTemplate(template, cwd));
    return { batch: `each-${hashOf([each, tool, params])}`, tasks, settings: {} };
  }
  if (tool !== undefined || params !== undefined)
    throw usage('--function and --params need --each: in a file, every task has its own.');
  if (file === undefined) throw usage('Give a task file (- for standard input), or --each with --function.');
  const read = await readTaskFile(file, stdin, cwd);
  const { tasks, settings } = read;
  const { batch = batchNameOf(file), ...rest } = settings;
  return { batch: String(batch), tasks: withIds(tasks), settings: rest, file: read };
}

/** The name of the batch of a task file that names none. */
export function batchNameOf(file: string): string {
  return file === '-' ? 'stdin' : basename(file, extname(file));
}

/** The tasks that the batch does not have yet. */
export async function newTasks(
  store: Pick<Store, 'tasksById'>,
  batch: string,
  tasks: readonly PlainObject[],
): Promise<PlainObject[]> {
  const known = await store.tasksById(batch, givenIds(tasks));
  return tasks.filter(({ id }) => typeof id !== 'string' || !known.has(id));
}

/** The ids under which the batch has a different call: the file changed after its tasks were added. */
export async function changedIds(
  store: Store,
  batch: string,
  tasks: readonly PlainObject[],
): Promise<string[]> {
  const given = new Map(tasks.map((task) => [task['id'], task]));
  const changed = new Set<unknown>();
  for await (const page of taskPages(store, batch)) {
    for (const known of page) {
      const task = given.get(known.id);
      if (task === undefined) continue;
      const { function: tool, params = {}, when, for_each } = task;
      const { when: knownWhen, forEach } = known.options;
      const isSame = known.function === tool && known.params === JSON.stringify(params) && knownWhen === when;
      if (!isSame || JSON.stringify(forEach) !== JSON.stringify(for_each)) changed.add(known.id);
    }
  }
  return givenIds(tasks).filter((id) => changed.has(id));
}

function givenIds(tasks: readonly PlainObject[]): string[] {
  return tasks.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
}

/** Gives tasks without an id one from their content, with a number for duplicates in the list or in the batch. */
export function withIds(
  tasks: readonly PlainObject[],
  isTaken: (id: string) => boolean = () => false,
): PlainObject[] {
  const seen = new Map<string, number>();
  return tasks.map((task) => {
    if (task['id'] !== undefined) return task;
    const hash = hashOf(task);
    const idOf = (number: number) => (number === 1 ? hash : `${hash}-${number}`);
    let number = (seen.get(hash) ?? 0) + 1;
    while (isTaken(idOf(number))) number++;
    seen.set(hash, number);
    // Nobody knows it by that id: show its tool.
    const name = task['name'] ?? task['function'];
    return { ...task, ...(typeof name === 'string' && { name }), id: idOf(number) };
  });
}

function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex')
    .slice(0, ID_LENGTH);
}

function usage(message: string): VolleyError {
  return new VolleyError('INVALID_VALUE', message);
}
