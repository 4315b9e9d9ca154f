import { MAX_TASKS } from '../../batch/actions/add-batch.ts';
import type { LargeCheck } from '../../batch/forecast/large-check.ts';
import { cycleError } from '../../core/block.ts';
import { VolleyError } from '../../core/errors.ts';
import { IdMap } from '../../core/id-map.ts';
import { show } from '../../core/numbers.ts';
import { newTasks, withIds } from '../input/collect-tasks.ts';
import type { LargeTaskFile, TaskPart } from '../input/large-file.ts';
import { locateErrors } from '../input/problem-places.ts';
import type { PlainObject } from '../input/task-file.ts';
import type { Session } from './session.ts';

const MAX_BYTES_AT_ONCE = 64 * 2 ** 20;

/** A large file whose tasks can be added. */
export interface CheckedFile {
  /** The number of its tasks. */
  readonly count: number;
  readonly check: LargeCheck;
  /** The tasks to add, as often as needed. Each list depends only on itself and on those before. */
  lists(): AsyncGenerator<TaskPart, void, undefined>;
}

/**
 * Checks all tasks of a file, so that none are added if one is wrong. Reads the file twice: for the ids, which tasks may
 * refer to before they are defined, and for everything else. Tasks that the batch has already are left out;
 * `foundKnown` is called with each part that has some.
 */
export async function checkLarge(
  { executor, store }: Session,
  batch: string,
  file: LargeTaskFile,
  foundKnown: (tasks: readonly PlainObject[]) => Promise<void>,
): Promise<CheckedFile> {
  const parts = () => withContentIds(file);
  const fresh = async (part: TaskPart): Promise<TaskPart> => ({
    ...part,
    tasks: await newTasks(store, batch, part.tasks),
  });

  const check = await executor.largeCheck(batch);
  for await (const part of parts())
    await locateErrors(part, part.tasks, async () => check.addIds(part.tasks.map(({ id }) => id)));

  /** How many tasks of the file come before the end of each list. */
  const ends: number[] = [];
  let before = 0;
  for await (const part of parts()) {
    before += part.tasks.length;
    const { tasks } = await fresh(part);
    if (tasks.length < part.tasks.length) await foundKnown(part.tasks);
    if (tasks.length > 0) await locateErrors(part, tasks, () => check.check(tasks));
    if (check.isClosedBefore(before)) ends.push(before);
    else if (before - (ends.at(-1) ?? 0) > MAX_TASKS - part.tasks.length) throw tooFarAhead(file);
  }
  const cycle = check.cycle();
  if (cycle !== undefined) throw await cycleIn(parts(), cycle);
  // As many as one request can add are added all or none.
  const isOne = before <= MAX_TASKS && file.bytes <= MAX_BYTES_AT_ONCE;
  return { count: before, check, lists: () => joined(parts(), isOne ? [before] : ends, fresh) };
}

/** Joins parts up to the given ends. */
async function* joined(
  parts: AsyncGenerator<TaskPart, void, undefined>,
  ends: readonly number[],
  fresh: (part: TaskPart) => Promise<TaskPart>,
): AsyncGenerator<TaskPart, void, undefined> {
  let before = 0;
  let next = 0;
  let open: TaskPart[] = [];
  for await (const part of parts) {
    before += part.tasks.length;
    open.push(await fresh(part));
    if (before !== ends[next]) continue;
    next++;
    const list = joinParts(open);
    open = [];
    if (list.tasks.length > 0) yield list;
  }
}

function joinParts(parts: readonly TaskPart[]): TaskPart {
  if (parts.length === 1) return parts[0]!;
  const tasks = parts.flatMap((part) => part.tasks);
  const [{ file }] = parts as [TaskPart];
  // Its tasks were checked, so that no places are needed.
  return { tasks, file: { name: file.name, placeOf: () => undefined } };
}

/** Gives tasks without an id one from their content. */
async function* withContentIds(file: LargeTaskFile): AsyncGenerator<TaskPart, void, undefined> {
  const seen = new IdMap(0);
  for await (const part of file.parts()) yield { ...part, tasks: withIds(part.tasks, seen) };
}

function tooFarAhead({ name }: LargeTaskFile): VolleyError {
  return new VolleyError(
    'INVALID_TASK_FILE',
    `${name}: a task depends on one that comes more than ${show(MAX_TASKS)} tasks later. Put tasks after those that they depend on.`,
    { file: name },
  );
}

/** The error for a cycle of tasks, given by their numbers. */
async function cycleIn(
  parts: AsyncGenerator<TaskPart, void, undefined>,
  numbers: readonly number[],
): Promise<VolleyError> {
  const wanted = new Set(numbers);
  const ids = new Map<number, string>();
  let place = '';
  let number = 0;
  for await (const { tasks, file } of parts) {
    for (const [index, { id }] of tasks.entries()) {
      if (wanted.has(number)) ids.set(number, String(id));
      const at = number === numbers[0] ? file.placeOf(index) : undefined;
      if (at !== undefined) place = `${file.name}:${at.line}:${at.column}: `;
      number++;
    }
  }
  const { code, message, details } = cycleError(
    [...numbers, numbers[0]!].map((one) => ({ id: ids.get(one)! })),
  );
  return new VolleyError(code, `${place}${message}`, details);
}
