import { spanText } from '../core/words.ts';
import type { TaskRecord } from '../store/records.ts';
import { type BatchContext, findBatch, findTask } from './context.ts';
import { explainTask } from './explain-task.ts';
import { holderText, taskText } from './names.ts';
import { durationOf, type ResultRow, rowOf } from './result-row.ts';
import { linesText, oneLine } from './text.ts';

/** What became of a task, or why nothing has yet. */
export interface TaskReport extends ResultRow {
  readonly text: string;
  readonly depends_on: readonly { readonly id: string; readonly status: string }[];
}

const LONGEST_MESSAGE = 1000;

/** Tells of a task whatever is known of it. Throws if there is no such task. */
export function reportTask(context: BatchContext, batch: string, id: string): TaskReport {
  const task = findTask(context, batch, id);
  const { dependsOn = [] } = task.options;
  return {
    ...rowOf(task),
    text: `${taskText(task)} ${standingText(context, task)}`,
    depends_on: dependsOn.map((other) => ({
      id: other,
      status: context.store.task(batch, other)?.status ?? 'cleared',
    })),
  };
}

function standingText(context: BatchContext, task: TaskRecord): string {
  switch (task.status) {
    case 'open':
      return linesText(
        task.attempts > 0 ? `is open again, after ${attemptsText(task)}.` : 'is open.',
        explainTask(context, task.batch, task.id),
      );
    case 'running':
      return runningText(context, task);
    case 'completed':
      return `has completed, after ${attemptsText(task)}${tookText(task)}.`;
    case 'failed':
      return linesText(
        `has failed with the reason "${task.reason}", after ${attemptsText(task)}${tookText(task)}:`,
        oneLine(task.message ?? '', LONGEST_MESSAGE),
        '"retry" opens it again.',
      );
    case 'cancelled':
      return linesText(
        `was cancelled: ${oneLine(task.message ?? '', LONGEST_MESSAGE)}`,
        '"retry" opens it again.',
      );
    case 'skipped':
      return skippedText(context, task);
  }
}

function runningText(context: BatchContext, { batch, id, startedAt }: TaskRecord): string {
  const since = startedAt === undefined ? '' : ` since ${spanText(Math.max(0, Date.now() - startedAt))}`;
  const record = findBatch(context, batch);
  if (context.runs.current(batch) !== undefined)
    return linesText(`is running${since}.`, explainTask(context, batch, id));
  const holder = context.runs.otherHolder(record);
  return holder === undefined
    ? 'was running in a process that died: "start" sees to it, and so does volley recover.'
    : `is running${since}, in ${holderText(holder)}.`;
}

function skippedText({ store }: BatchContext, { batch, cause }: TaskRecord): string {
  const root = cause === undefined ? undefined : store.task(batch, cause);
  if (root === undefined) {
    return cause === undefined
      ? 'was skipped: it runs only if something that it depends on fails.'
      : `was skipped because of ${cause}, which was cleared.`;
  }
  return linesText(
    `was skipped because of ${taskText(root)}, which ${rootText(root)}${root.message === undefined ? '.' : ':'}`,
    root.message === undefined ? undefined : oneLine(root.message, LONGEST_MESSAGE),
    `"retry" of ${cause} opens both again.`,
  );
}

function rootText({ status }: TaskRecord): string {
  if (status === 'completed') return 'has completed since';
  return status === 'cancelled' ? 'was cancelled' : status === 'failed' ? 'failed' : `is ${status} again`;
}

function attemptsText({ attempts }: TaskRecord): string {
  return attempts === 0 ? 'no attempt' : attempts === 1 ? 'one attempt' : `${attempts} attempts`;
}

function tookText(task: TaskRecord): string {
  const took = durationOf(task);
  return took === undefined ? '' : ` in ${spanText(took)}`;
}
