import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { MAX_TASKS } from '../../batch/actions/add-batch.ts';
import { taskPages } from '../../batch/context.ts';
import { ASK_AGENT, ASK_MODEL } from '../../core/ask-tools.ts';
import { VolleyError } from '../../core/errors.ts';
import { IdMap } from '../../core/id-map.ts';
import { reasonText } from '../../core/words.ts';
import type { Store } from '../../store/store.ts';
import type { Io } from '../output/io.ts';
import { usageError } from '../output/messages.ts';
import { LargeTaskFile } from './large-file.ts';
import { type PlainObject, readTaskFile, type TaskFile } from './task-file.ts';
import { tasksFromTemplate } from './template.ts';

/** The arguments of `run` and `simulate` that name tasks. */
export interface RunSource {
  readonly file: string | undefined;
  readonly each: readonly string[] | undefined;
  readonly function: string | undefined;
  readonly params: string | undefined;
  /** A prompt for each file, instead of a function. */
  readonly ask?: string | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  /** A file with the JSON Schema of the answers. */
  readonly schema?: string | undefined;
  /** Whether the agent of each file may change files, in a worktree. */
  readonly worktrees?: boolean | undefined;
}

export interface RunTasks {
  readonly batch: string;
  readonly tasks: readonly PlainObject[];
  /** Undefined if they come from a template. */
  readonly file?: Pick<TaskFile, 'name' | 'placeOf'>;
  /** `max_concurrent`, `timeout` and `fail_fast` of the file. */
  readonly settings: PlainObject;
}

/** Long enough that few of a million tasks collide, and those that do get a number. */
const ID_LENGTH = 12;
/** Larger JSON files are read in parts. */
const LARGE_BYTES = 8 * 2 ** 20;

/** Collects the tasks of a run. Ids follow from the content, so that the same command resumes the same tasks. */
export async function collectTasks(source: RunSource, { cwd, stdin }: Io): Promise<RunTasks | LargeTaskFile> {
  const { file, each, ask } = source;
  if (ask === undefined && (source.agent ?? source.model ?? source.schema ?? source.worktrees) !== undefined)
    throw usageError('--agent, --model, --schema and --worktrees need --ask: a prompt for each file.');
  if (each !== undefined) {
    if (file !== undefined) throw usageError('Give either a task file or --each, not both.');
    const { function: tool, params, ...fixed } = await callOf(source, cwd);
    const tasks = withIds(
      await tasksFromTemplate({ each, function: tool, params: params ?? '{}', ...fixed }, cwd),
    );
    const named = fixed.fixedParams === undefined ? [each, tool, params] : [each, tool, params, fixed];
    return { batch: `each-${hashOf(named)}`, tasks, settings: {} };
  }
  if (ask !== undefined) throw usageError('--ask needs --each: the files to ask about.');
  if (source.function !== undefined || source.params !== undefined)
    throw usageError('--function and --params need --each: in a file, every task has its own.');
  if (file === undefined)
    throw usageError('Give a task file (- for standard input), or --each with --function or --ask.');
  const read = await readTasks(file, stdin, cwd);
  if (read instanceof LargeTaskFile) return read;
  const { tasks, settings } = read;
  const { batch = batchOfFile(file), ...rest } = settings;
  return { batch: String(batch), tasks: withIds(tasks), settings: rest, file: read };
}

/** What is called for each file: a function, or an agent or model that is asked about it. */
async function callOf(
  { function: tool, params, ask, agent, model, schema, worktrees }: RunSource,
  cwd: string,
): Promise<{ function: string; params: string | undefined; fixedParams?: PlainObject }> {
  if (ask === undefined) {
    if (tool === undefined)
      throw usageError('--each needs --function, the tool to call for each file, or --ask.');
    return { function: tool, params };
  }
  if (tool !== undefined || params !== undefined)
    throw usageError('Give either --ask, or --function with --params, not both.');
  if (agent !== undefined && model !== undefined)
    throw usageError('Give either --agent or --model, not both.');
  if (worktrees && model !== undefined)
    throw usageError('--worktrees is for agents: a model changes no files.');
  return {
    function: model === undefined ? ASK_AGENT : ASK_MODEL,
    params: JSON.stringify({ prompt: ask, files: ['{}'] }),
    fixedParams: {
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model }),
      ...(schema !== undefined && { schema: await readSchema(schema, cwd) }),
      ...(worktrees && { mode: 'worktree' }),
    },
  };
}

async function readSchema(file: string, cwd: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(resolve(cwd, file), 'utf8'));
  } catch (error) {
    throw usageError(`--schema: ${file} cannot be used: ${reasonText(error)}`);
  }
}

/** The name of the batch of a task file that names none. */
export function batchOfFile(file: string): string {
  return file === '-' ? 'stdin' : basename(file, extname(file));
}

/** Reads a file, or opens it if it is to be read in parts. */
export async function readTasks(
  file: string,
  stdin: Io['stdin'],
  cwd: string,
): Promise<TaskFile | LargeTaskFile> {
  const isInput = file === '-';
  const large = isInput ? undefined : await LargeTaskFile.open(file, cwd, LARGE_BYTES);
  if (large !== undefined) return large;
  const read = await readTaskFile(file, stdin, cwd);
  const { name, tasks } = read;
  if (tasks.length <= MAX_TASKS) return read;
  const many = isInput ? undefined : await LargeTaskFile.open(file, cwd, 0);
  if (many !== undefined) return many;
  throw new VolleyError(
    'INVALID_TASK_FILE',
    `${name}: it has ${tasks.length} tasks. More than ${MAX_TASKS} need a JSON Lines file (.jsonl), which is read in parts.`,
    { file: name, tasks: tasks.length },
  );
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
  const seqs = [...(await store.tasksById(batch, givenIds(tasks))).values()].map(({ seq }) => seq);
  const changed = new Set<unknown>();
  if (seqs.length === 0) return [];
  const [first, last] = [seqs.reduce((a, b) => Math.min(a, b)), seqs.reduce((a, b) => Math.max(a, b))];
  for await (const page of taskPages(store, batch, undefined, first - 1)) {
    if (page[0]!.seq > last) break;
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

/**
 * Gives tasks without an id one from their content, with a number for duplicates. `seen` counts them if the list comes
 * in parts.
 */
export function withIds(tasks: readonly PlainObject[], seen = new IdMap(0)): PlainObject[] {
  return tasks.map((task) => {
    if (task['id'] !== undefined) return task;
    const hash = hashOf(task);
    const number = Math.max(0, seen.get(hash)) + 1;
    seen.set(hash, number);
    // Nobody knows it by that id: show its tool.
    const name = task['name'] ?? task['function'];
    return {
      ...task,
      ...(typeof name === 'string' && { name }),
      id: number === 1 ? hash : `${hash}-${number}`,
    };
  });
}

function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex')
    .slice(0, ID_LENGTH);
}
