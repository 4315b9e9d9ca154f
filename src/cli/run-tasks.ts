import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { taskPages } from '../batch/context.ts';
import { VolleyError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';
import type { PlacedTasks } from './input/place-problems.ts';
import { readTaskFile } from './input/read-task-file.ts';
import type { PlainObject } from './input/task-file.ts';
import { tasksFromTemplate } from './input/template.ts';
import type { Io } from './io.ts';

/** Where the tasks of `run` come from. */
export interface RunSource {
  readonly file: string | undefined;
  readonly each: readonly string[] | undefined;
  readonly function: string | undefined;
  readonly params: string | undefined;
}

export interface RunTasks {
  readonly batch: string;
  readonly tasks: readonly PlainObject[];
  /** Where they come from, if that is a file. */
  readonly file?: PlacedTasks['file'];
  /** What the file says besides: `max_concurrent`, `timeout`, `fail_fast`. */
  readonly settings: PlainObject;
}

/** So long that among 100,000 tasks no two are taken for the same. */
const ID_LENGTH = 12;

/**
 * The tasks of a run, each with an id that follows from what it is: the same command finds the same tasks again, and
 * goes on where it was interrupted.
 */
export async function collectTasks(source: RunSource, { cwd, stdin }: Io): Promise<RunTasks> {
  const { file, each } = source;
  if (each !== undefined) {
    if (file !== undefined) throw usage('Give either a file of tasks or --each, not both.');
    const tasks = withIds(await tasksFromTemplate(templateOf(source, each), cwd));
    return { batch: `each-${hashOf([each, source.function, source.params])}`, tasks, settings: {} };
  }
  if (source.function !== undefined || source.params !== undefined)
    throw usage('--function and --params go with --each: in a file, every task names its own.');
  if (file === undefined)
    throw usage('Give a file of tasks (- for standard input), or --each with --function.');
  const read = await readTaskFile(file, stdin, cwd);
  const { tasks, settings } = read;
  const { batch = file === '-' ? 'stdin' : basename(file, extname(file)), ...rest } = settings;
  return { batch: String(batch), tasks: withIds(tasks), settings: rest, file: read };
}

/** Those that the batch does not have yet: the same command goes on with the others. */
export async function newTasks(
  store: Pick<Store, 'tasksById'>,
  batch: string,
  tasks: readonly PlainObject[],
): Promise<PlainObject[]> {
  const known = await store.tasksById(batch, idsOf(tasks));
  return tasks.filter(({ id }) => typeof id !== 'string' || !known.has(id));
}

/** Ids under which the batch has something else: the file was changed after its tasks were added. */
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
      const { function: tool, params = {} } = task;
      if (known.function !== tool || known.params !== JSON.stringify(params)) changed.add(known.id);
    }
  }
  return idsOf(tasks).filter((id) => changed.has(id));
}

function idsOf(tasks: readonly PlainObject[]): string[] {
  return tasks.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
}

function templateOf({ function: tool, params = '{}' }: RunSource, each: readonly string[]) {
  if (tool === undefined) throw usage('--each needs --function: the tool that is called for each file.');
  return { each, function: tool, params };
}

/**
 * Tasks without an id get one from their content, so that each command knows them again; twins, of the same list or as
 * `isTaken` says, are told apart by their number.
 */
export function withIds(
  tasks: readonly PlainObject[],
  isTaken: (id: string) => boolean = () => false,
): PlainObject[] {
  const seen = new Map<string, number>();
  return tasks.map((task) => {
    if (task['id'] !== undefined) return task;
    const hash = hashOf(task);
    const idOf = (twin: number) => (twin === 1 ? hash : `${hash}-${twin}`);
    let twin = (seen.get(hash) ?? 0) + 1;
    while (isTaken(idOf(twin))) twin++;
    seen.set(hash, twin);
    // Nobody knows it by that id: it is shown as what it calls.
    const name = task['name'] ?? task['function'];
    return { ...task, ...(typeof name === 'string' && { name }), id: idOf(twin) };
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
