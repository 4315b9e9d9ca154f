import { addBatchAction } from '../../batch/actions/add-batch.ts';
import { taskNumberIn } from '../../batch/add-tasks.ts';
import type { PlainObject, TaskFile } from './task-file.ts';

/** Tasks of a file, and where each of them stands in it. */
export interface PlacedTasks {
  /** All of the file, in its order. */
  readonly tasks: readonly PlainObject[];
  readonly file: Pick<TaskFile, 'name' | 'placeOf'>;
}

/** What is wrong with tasks: the message, and each problem of it where there are several. */
interface Placed {
  readonly message: string;
  readonly problems?: readonly string[] | undefined;
}

interface Fault extends Placed {
  readonly code: string;
  /** Of the task that it is about, if that is told. */
  readonly id?: unknown;
  /** Of a cycle: the ids, each of which waits for the next. */
  readonly path?: unknown;
}

/** What is said of the only task of a list without naming it. */
const OF_A_TASK = new Set([
  ...[
    'UNKNOWN_TOOL',
    'TOOL_NOT_ALLOWED',
    'NOT_TRUSTED',
    'INVALID_ARGUMENTS',
    'INVALID_CALL',
    'UNSERIALISABLE_INPUT',
  ],
  ...['UNKNOWN_DEPENDENCY', 'IMPOSSIBLE_DEMAND'],
]);

type Path = readonly PropertyKey[];

/** The same, with `FILE:LINE:COLUMN` before each problem. `asked` are the tasks of the file that were refused. */
export function placeProblems(fault: Fault, asked: readonly PlainObject[], all: PlacedTasks): Placed {
  const { message, problems } = fault;
  const paths = pathsOfForm(asked);
  const placed = (problems ?? [message]).map((problem, index) => {
    const path = paths.length === 0 ? pathOfTask(problem, fault, asked) : pathOfField(problem, paths[index]);
    const place = path && placeText(path, asked, all);
    return place === undefined ? problem : `${place}: ${problem}`;
  });
  if (problems === undefined) return { message: placed[0]! };
  // The message has the first ones of them.
  const told = (text: string, problem: string, index: number) => text.replace(problem, () => placed[index]!);
  return { message: problems.reduce(told, message), problems: placed };
}

/** Where the form of tasks is wrong, in the order in which that is told; nothing if it is not. */
function pathsOfForm(tasks: readonly PlainObject[]): Path[] {
  const issues = addBatchAction.schema.safeParse({ tasks }).error?.issues ?? [];
  return issues.map((issue) =>
    issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path,
  );
}

/** Something besides the tasks may have been wrong as well: then it is another problem that stands in this place. */
function pathOfField(problem: string, path: Path | undefined): Path | undefined {
  return path !== undefined && problem.includes(`tasks[${String(path[1])}]`) ? path : undefined;
}

function pathOfTask(problem: string, fault: Fault, asked: readonly PlainObject[]): Path | undefined {
  const { code, id, path } = fault;
  const number = taskNumberIn(problem);
  if (number !== undefined) return ['tasks', number - 1];
  // The second of two with the same id is the one too many.
  if (code === 'DUPLICATE_ID') return ['tasks', asked.findLastIndex((task) => task['id'] === id), 'id'];
  if (code === 'DEPENDENCY_CYCLE' && Array.isArray(path)) return pathOfCycle(path, asked);
  return asked.length === 1 && OF_A_TASK.has(code) ? ['tasks', 0] : undefined;
}

/** Where the first of them waits for the next, in words or by a reference. */
function pathOfCycle([id, next]: readonly unknown[], asked: readonly PlainObject[]): Path {
  const index = asked.findIndex((task) => task['id'] === id);
  const { depends_on: named } = asked[index] ?? {};
  const at = Array.isArray(named) ? named.indexOf(next) : -1;
  return ['tasks', index, ...(at < 0 ? ['params'] : ['depends_on', at])];
}

function placeText(
  [list, index, ...rest]: Path,
  asked: readonly PlainObject[],
  { tasks, file }: PlacedTasks,
): string | undefined {
  const task = list === 'tasks' && typeof index === 'number' ? asked[index] : undefined;
  if (task === undefined) return undefined;
  const at = tasks.indexOf(task);
  const place = file.placeOf(at, rest as (string | number)[]) ?? file.placeOf(at);
  return place && `${file.name}:${place.line}:${place.column}`;
}
