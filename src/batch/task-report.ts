import { spanText } from '../core/words.ts';
import type { TaskRecord } from '../store/records.ts';
import { type BatchContext, findBatch, findTask } from './context.ts';
import { attemptsText, endedText } from './ended-text.ts';
import { explainTask } from './explain-task.ts';
import { type ResultRow, rowOf } from './result-row.ts';
import { holderText, linesText, taskText } from './text.ts';

/** What became of a task, or why nothing has yet. */
export interface TaskReport extends ResultRow {
  readonly text: string;
  readonly depends_on: readonly { readonly id: string; readonly status: string }[];
}

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
    default:
      return endedText(context, task) ?? '';
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
    : linesText(`is running${since}, in ${holderText(holder)}.`, explainTask(context, batch, id));
}
