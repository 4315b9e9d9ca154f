import { spanText } from '../core/words.ts';
import type { TaskRecord } from '../store/records.ts';
import { type BatchContext, findBatch, findTask } from './context.ts';
import { attemptsText, endedText } from './ended-text.ts';
import { explainTask } from './explain-task.ts';
import { holderText, taskText } from './names.ts';
import { type ResultRow, rowOf } from './result-row.ts';
import { linesText } from './text.ts';

/** What became of a task, or why nothing has yet. */
export interface TaskReport extends ResultRow {
  readonly text: string;
  readonly depends_on: readonly { readonly id: string; readonly status: string }[];
}

/** Tells of a task whatever is known of it. Throws if there is no such task. */
export async function reportTask(context: BatchContext, batch: string, id: string): Promise<TaskReport> {
  const task = await findTask(context, batch, id);
  const { dependsOn = [] } = task.options;
  const others = await context.store.tasksById(batch, dependsOn);
  return {
    ...rowOf(task),
    text: `${taskText(task)} ${await standingText(context, task)}`,
    depends_on: dependsOn.map((other) => ({
      id: other,
      status: others.get(other)?.status ?? 'cleared',
    })),
  };
}

async function standingText(context: BatchContext, task: TaskRecord): Promise<string> {
  switch (task.status) {
    case 'open':
      return linesText(
        task.attempts > 0 ? `is open again, after ${attemptsText(task)}.` : 'is open.',
        await explainTask(context, task.batch, task.id),
      );
    case 'running':
      return runningText(context, task);
    default:
      return (await endedText(context, task)) ?? '';
  }
}

async function runningText(context: BatchContext, { batch, id, startedAt }: TaskRecord): Promise<string> {
  const since = startedAt === undefined ? '' : ` since ${spanText(Math.max(0, Date.now() - startedAt))}`;
  const record = await findBatch(context, batch);
  const isHere = context.runs.current(batch) !== undefined;
  const holder = context.runs.otherHolder(record);
  if (!isHere && holder === undefined)
    return 'was running in a process that died: "start" sees to it, and so does volley recover.';
  const where = isHere || holder === undefined ? '' : `, in ${holderText(holder)}`;
  return linesText(`is running${since}${where}.`, await explainTask(context, batch, id));
}
