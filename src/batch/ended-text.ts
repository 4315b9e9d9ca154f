import { spanText } from '../core/words.ts';
import type { TaskRecord } from '../store/records.ts';
import type { BatchContext } from './context.ts';
import { taskText } from './names.ts';
import { linesText, oneLine } from './text.ts';

const LONGEST_MESSAGE = 1000;

/** How a task ended, when, and what can be done, as a sentence whose subject is the task; undefined before its end. */
export async function endedText(
  context: Pick<BatchContext, 'store'>,
  task: TaskRecord,
): Promise<string | undefined> {
  switch (task.status) {
    case 'open':
    case 'running':
      return undefined;
    case 'completed':
      return `has completed, after ${attemptsText(task)}${tookText(task)}${agoText(task)}.`;
    case 'failed':
      return linesText(
        `has failed with the reason "${task.reason}", after ${attemptsText(task)}${tookText(task)}${agoText(task)}:`,
        oneLine(task.message ?? '', LONGEST_MESSAGE),
        '"retry" opens it again.',
      );
    case 'cancelled':
      return linesText(
        `was cancelled${agoText(task)}: ${oneLine(task.message ?? '', LONGEST_MESSAGE)}`,
        '"retry" opens it again.',
      );
    case 'skipped':
      return skippedText(context, task);
  }
}

/** `one attempt`, for a task that had one. */
export function attemptsText({ attempts }: TaskRecord): string {
  return attempts === 0 ? 'no attempt' : attempts === 1 ? 'one attempt' : `${attempts} attempts`;
}

async function skippedText({ store }: Pick<BatchContext, 'store'>, task: TaskRecord): Promise<string> {
  const { batch, cause } = task;
  const root = cause === undefined ? undefined : await store.task(batch, cause);
  if (root === undefined) {
    return cause === undefined
      ? `was skipped${agoText(task)}: it runs only if something that it depends on fails.`
      : `was skipped${agoText(task)} because of ${cause}, which was cleared.`;
  }
  return linesText(
    `was skipped${agoText(task)} because of ${taskText(root)}, which ${rootText(root)}${root.message === undefined ? '.' : ':'}`,
    root.message === undefined ? undefined : oneLine(root.message, LONGEST_MESSAGE),
    `"retry" of ${cause} opens both again.`,
  );
}

function rootText({ status }: TaskRecord): string {
  if (status === 'completed') return 'has completed since';
  return status === 'cancelled' ? 'was cancelled' : status === 'failed' ? 'failed' : `is ${status} again`;
}

function tookText(task: TaskRecord): string {
  const took = task.durationMs;
  return took === undefined ? '' : ` in ${spanText(took)}`;
}

function agoText({ status, endedAt }: TaskRecord): string {
  if (endedAt === undefined) return '';
  const comma = status === 'completed' || status === 'failed' ? ',' : '';
  return `${comma} ${spanText(Math.max(0, Date.now() - endedAt))} ago`;
}
