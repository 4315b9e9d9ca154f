import { listText, spanText } from '../core/words.ts';
import type { TaskRecord } from '../store/records.ts';
import type { TaskSummary } from '../store/store.ts';
import type { BatchContext } from './context.ts';
import { findBatch, findTask } from './context.ts';
import { endedText } from './ended-text.ts';
import { holderText } from './names.ts';
import { oneLine } from './text.ts';

const MAX_NAMED = 5;
const LONGEST_MESSAGE = 200;

/** Why a task does not run, or how it ended, in words; undefined while it runs. Throws if there is no such task. */
export async function explainTask(
  context: BatchContext,
  batch: string,
  id: string,
): Promise<string | undefined> {
  const record = await findBatch(context, batch);
  const task = await findTask(context, batch, id);
  const run = context.runs.current(batch);
  const text = run?.explain(id);
  const ended = await endedText(context, task);
  if (ended !== undefined) return `It ${ended}`;
  if (task.status === 'running') return text ?? (run === undefined ? pauseText(task) : undefined);
  if (text !== undefined) return text;
  if (run !== undefined) return 'It is about to be looked at.';
  const holder = context.runs.otherHolder(record);
  const waits = await dependenciesText(context, task);
  if (holder === undefined) return `${waits ?? ''}The batch is not running: start it.`;
  return `${waits ?? 'Nothing that it depends on holds it up: its turn has not come. '}The batch is run by ${holderText(holder)}, with ${record.counts.running} running and ${record.counts.open} open${limitText(record.options)}.`;
}

/** What the store tells of one that another process will try again. */
function pauseText({ pause }: TaskRecord): string | undefined {
  if (pause === undefined) return undefined;
  const when = spanText(Math.max(0, pause.until - Date.now()));
  const { reason, message = '' } = pause;
  return `It pauses and tries again in ${when}; the last attempt failed: ${oneLine(message === '' ? reason : message, LONGEST_MESSAGE)}`;
}

/** What of its dependencies keeps an open task from running. */
async function dependenciesText(
  { store }: BatchContext,
  { batch, options }: TaskRecord,
): Promise<string | undefined> {
  const { dependsOn = [], onDependencyFailure = 'skip' } = options;
  const found = [...(await store.tasksById(batch, dependsOn)).values()];
  const ended = found.filter(({ status }) => !['open', 'running', 'completed'].includes(status));
  if (ended.length > 0 && onDependencyFailure === 'skip')
    return `It will be skipped, because it depends on ${namesText(ended)}. `;
  const waited = found.filter(({ status }) => status === 'open' || status === 'running');
  return waited.length === 0 ? undefined : `It waits for ${namesText(waited)}. `;
}

function namesText(tasks: readonly TaskSummary[]): string {
  const names = tasks.slice(0, MAX_NAMED).map(({ id, status }) => `${id} (${status})`);
  return listText(names, tasks.length);
}

/** Of the run that goes on, as far as it was told one. */
function limitText(options: string | undefined): string {
  const { maxConcurrency } = JSON.parse(options ?? '{}') as { maxConcurrency?: unknown };
  return typeof maxConcurrency === 'number' ? `, at most ${maxConcurrency} at once` : '';
}
