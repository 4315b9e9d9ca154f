import type { BatchAnswer } from '../../batch/answer.ts';
import { VolleyError } from '../../core/errors.ts';
import type { PlacedTasks } from './place-problems.ts';
import type { PlainObject } from './task-file.ts';

/** Where tasks come from; those that no file has stand nowhere. */
type Found = Pick<PlacedTasks, 'tasks'> & Partial<PlacedTasks>;

/** An answer that refused tasks, with their places in the file. */
export async function placedAnswer(
  answer: BatchAnswer,
  asked: readonly PlainObject[],
  found: Found,
): Promise<BatchAnswer> {
  const { ok, error, data } = answer;
  if (ok || error === undefined) return answer;
  const placed = await place(error, data, asked, found);
  if (placed === undefined) return answer;
  const { message, problems } = placed;
  return {
    ...answer,
    text: message,
    data: { ...data, ...(problems && { problems }) },
    error: { ...error, message },
  };
}

/** What is thrown because of tasks is thrown with their places in the file. */
export async function orPlaced<T>(
  found: Found,
  asked: readonly PlainObject[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof VolleyError)) throw error;
    const { code, details } = error;
    const placed = await place(error, details, asked, found);
    if (placed === undefined) throw error;
    const { message, problems } = placed;
    throw new VolleyError(code, message, { ...details, ...(problems && { problems }) }, { cause: error });
  }
}

async function place(
  { code, message }: { readonly code: string; readonly message: string },
  { problems, id, path }: { readonly problems?: unknown; readonly id?: unknown; readonly path?: unknown },
  asked: readonly PlainObject[],
  { tasks, file }: Found,
) {
  if (file === undefined) return undefined;
  // What checks the form of tasks is loaded by those who have made a mistake.
  const { placeProblems } = await import('./place-problems.ts');
  const fault = { code, message, id, path, problems: problems as string[] | undefined };
  return placeProblems(fault, asked, { tasks, file });
}
