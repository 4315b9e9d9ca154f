import type { BatchAnswer } from '../../batch/answer.ts';
import { VolleyError } from '../../core/errors.ts';
import type { PlainObject, TaskFile } from './task-file.ts';

/** All tasks of a file, in its order. Tasks that come from no file have no places. */
interface LocatedTasks {
  readonly tasks: readonly PlainObject[];
  readonly file?: Pick<TaskFile, 'name' | 'placeOf'>;
}

interface Problems {
  readonly message: string;
  /** Each problem, if there are several. */
  readonly problems?: readonly string[] | undefined;
}

interface Refusal {
  readonly code: string;
  /** The task that it is about, if known. */
  readonly id?: unknown;
  /** Of a cycle: ids, each of which depends on the next. */
  readonly path?: unknown;
}

type Path = readonly PropertyKey[];

/** Codes about a task, whose message does not name it if it is the only one. */
const ABOUT_A_TASK = new Set([
  ...['UNKNOWN_TOOL', 'TOOL_NOT_ALLOWED', 'NOT_TRUSTED', 'INVALID_ARGUMENTS', 'INVALID_CALL'],
  ...['UNSERIALISABLE_INPUT', 'UNKNOWN_DEPENDENCY', 'UNKNOWN_RESOURCE', 'IMPOSSIBLE_DEMAND'],
]);

/** Adds places in the file to an answer that refused the `asked` tasks. */
export async function locateInAnswer(
  answer: BatchAnswer,
  asked: readonly PlainObject[],
  found: LocatedTasks,
): Promise<BatchAnswer> {
  const { ok, error, data } = answer;
  if (ok || error === undefined || found.file === undefined) return answer;
  const { message, problems } = await locate(error, data, asked, found);
  return {
    ...answer,
    text: message,
    data: { ...data, ...(problems && { problems }) },
    error: { ...error, message },
  };
}

/** Adds places in the file to what `work` throws because of the `asked` tasks. */
export async function locateErrors<T>(
  found: LocatedTasks,
  asked: readonly PlainObject[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof VolleyError) || found.file === undefined) throw error;
    const { code, details } = error;
    const { message, problems } = await locate(error, details, asked, found);
    throw new VolleyError(code, message, { ...details, ...(problems && { problems }) }, { cause: error });
  }
}

/** Prefixes each problem with `FILE:LINE:COLUMN`. */
async function locate(
  { code, message }: { readonly code: string; readonly message: string },
  details: Readonly<Record<string, unknown>>,
  asked: readonly PlainObject[],
  found: LocatedTasks,
): Promise<Problems> {
  const problems = details['problems'] as readonly string[] | undefined;
  // Loaded only for mistakes.
  const [{ addBatchAction }, { taskNumberIn }] = await Promise.all([
    import('../../batch/actions/add-batch.ts'),
    import('../../batch/add-tasks.ts'),
  ]);
  // The schema reports problems in the same order.
  const issues = addBatchAction.schema.safeParse({ tasks: asked }).error?.issues ?? [];
  const paths = issues.map((issue) =>
    issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path,
  );
  const located = (problems ?? [message]).map((problem, index) => {
    const path =
      paths.length === 0
        ? taskPath(taskNumberIn(problem), { ...details, code }, asked)
        : fieldPath(problem, paths[index]);
    const place = path && placeText(path, asked, found);
    return place === undefined ? problem : `${place}: ${problem}`;
  });
  if (problems === undefined) return { message: located[0]! };
  // The message contains the first problems.
  const replace = (text: string, problem: string, index: number) =>
    text.replace(problem, () => located[index]!);
  return { message: problems.reduce(replace, message), problems: located };
}

/** If fields besides the tasks are wrong too, a problem may not match the issue at its index. */
function fieldPath(problem: string, path: Path | undefined): Path | undefined {
  return path !== undefined && problem.includes(`tasks[${String(path[1])}]`) ? path : undefined;
}

function taskPath(
  number: number | undefined,
  { code, id, path }: Refusal,
  asked: readonly PlainObject[],
): Path | undefined {
  if (number !== undefined) return ['tasks', number - 1];
  // Of two tasks with the same id, the second is wrong.
  if (code === 'DUPLICATE_ID') return ['tasks', asked.findLastIndex((task) => task['id'] === id), 'id'];
  if (code === 'DEPENDENCY_CYCLE' && Array.isArray(path)) return cyclePath(path, asked);
  return asked.length === 1 && ABOUT_A_TASK.has(code) ? ['tasks', 0] : undefined;
}

/** Where the first task of a cycle depends on the next, by name or by a reference in its params. */
function cyclePath([id, next]: readonly unknown[], asked: readonly PlainObject[]): Path {
  const index = asked.findIndex((task) => task['id'] === id);
  const { depends_on: named } = asked[index] ?? {};
  const at = Array.isArray(named) ? named.indexOf(next) : -1;
  return ['tasks', index, ...(at < 0 ? ['params'] : ['depends_on', at])];
}

function placeText(
  [list, index, ...rest]: Path,
  asked: readonly PlainObject[],
  { tasks, file }: LocatedTasks,
): string | undefined {
  const task = list === 'tasks' && typeof index === 'number' ? asked[index] : undefined;
  if (task === undefined || file === undefined) return undefined;
  const at = tasks.indexOf(task);
  const place = file.placeOf(at, rest as (string | number)[]) ?? file.placeOf(at);
  return place && `${file.name}:${place.line}:${place.column}`;
}
