import { listText, spanText } from '../core/words.ts';
import { type GroupKind, groupKind, isGroup, type TaskRecord } from '../store/records.ts';
import type { TaskSummary } from '../store/store.ts';
import { type BatchContext, findBatch, findTask } from './context.ts';
import { countsText, type TaskCounts, totalOf } from './counts.ts';
import { featureHint, transcriptHint } from './feature-task.ts';
import { groupText, itemNoun } from './group-text.ts';
import { hintText } from './hints.ts';
import { type ResultRow, rowOf } from './result-row.ts';
import { askWhy, holderText } from './run/holder-requests.ts';
import { linesText, oneLine, taskText, workerText } from './text.ts';

/** How a task ended, or why it has not. */
export interface TaskReport extends ResultRow {
  readonly text: string;
  readonly depends_on: readonly { readonly id: string; readonly status: string }[];
  /** Only of groups. */
  readonly kind?: GroupKind | undefined;
  /** Only of groups: how many of its items have each status. */
  readonly items?: TaskCounts;
  /** The attempts that printed or logged something. */
  readonly logged_attempts?: readonly number[];
}

/** Reports the state of a task. Throws if it does not exist. */
export async function reportTask(context: BatchContext, batch: string, id: string): Promise<TaskReport> {
  const task = await findTask(context, batch, id);
  const { dependsOn = [] } = task.options;
  const others = await context.store.tasksById(batch, dependsOn);
  const items = isGroup(task.options) ? await context.store.itemCounts(batch, task.seq) : undefined;
  const logged = (await context.store.outputOf(batch, id)).map(({ attempt }) => attempt);
  return {
    ...rowOf(task),
    ...(logged.length > 0 && { logged_attempts: logged }),
    ...(items !== undefined && { kind: groupKind(task.options), items }),
    text: linesText(
      `${taskText(task)} ${await stateText(context, task)}`,
      items && (await itemLines(context, task, items)),
      logged.length > 0 ? hintText('logs', id) : undefined,
    ),
    depends_on: dependsOn.map((other) => ({
      id: other,
      status: others.get(other)?.status ?? 'cleared',
    })),
  };
}

/** What a group is, how its items stand, and what keeps them from running. */
async function itemLines(context: BatchContext, task: TaskRecord, counts: TaskCounts): Promise<string[]> {
  const { batch, seq, status, options } = task;
  const isOver = status !== 'open' && status !== 'running';
  const what = `It ${isOver ? 'ran' : 'runs'} ${groupText(options)}${concurrencyText(task)}.`;
  if (totalOf(counts) === 0) return isOver ? [] : [what];
  const lines = [`${what} ${countsText(counts, itemNoun(options))}.`];
  const unsuccessful = counts.failed + counts.cancelled + counts.skipped;
  if (unsuccessful > 0) {
    const first = await context.store.items(batch, seq, { status: UNSUCCESSFUL, limit: MAX_NAMED });
    lines.push(
      `Not completed: ${listText(
        first.map(({ id }) => id),
        unsuccessful,
      )}.`,
    );
  }
  if (status === 'running' && counts.running === 0 && counts.open > 0) {
    const [next] = await context.store.items(batch, seq, { status: ['open'], limit: 1 });
    const why = next && (await explainTask(context, batch, next.id));
    if (why !== undefined) lines.push(`${next!.id}: ${why}`);
  }
  return lines;
}

function concurrencyText({ options: { maxConcurrent } }: TaskRecord): string {
  return maxConcurrent === undefined ? '' : `, at most ${maxConcurrent} at once`;
}

async function stateText(context: BatchContext, task: TaskRecord): Promise<string> {
  switch (task.status) {
    case 'open':
      return linesText(
        task.attempts > 0 ? `is open again after ${attemptsText(task)}.` : 'is open.',
        await explainTask(context, task.batch, task.id),
      );
    case 'running':
      return runningText(context, task);
    default:
      return (await endedText(context, task)) ?? '';
  }
}

async function runningText(context: BatchContext, task: TaskRecord): Promise<string> {
  const { batch, id, startedAt } = task;
  const running =
    startedAt === undefined
      ? 'is running'
      : `has been running for ${spanText(Math.max(0, Date.now() - startedAt))}${workerText(task)}`;
  const record = await findBatch(context, batch);
  const isHere = context.runs.current(batch) !== undefined;
  const holder = context.runs.otherHolder(record);
  if (!isHere && holder === undefined)
    return `was running in a process that died. ${featureHint(task) ?? hintText('recover')}`;
  const where = isHere || holder === undefined ? '' : `, in ${holderText(holder)}`;
  return linesText(`${running}${where}.`, await explainTask(context, batch, id), transcriptHint(task));
}

const MAX_NAMED = 5;
const UNSUCCESSFUL = ['failed', 'cancelled', 'skipped'] as const;
/** Longer messages are truncated. */
const MAX_ATTEMPT_MESSAGE = 200;
const MAX_MESSAGE = 1000;

/** Explains why a task is not running, or how it ended. Returns undefined while it runs. Throws if it does not exist. */
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
  const holder = context.runs.otherHolder(record);
  // An attempt that runs does not wait; the store knows of its retries.
  const live =
    holder !== undefined && (task.status === 'open' || task.pause !== undefined)
      ? (await askWhy(context, batch, holder, [id]))?.waiting[0]?.text
      : undefined;
  if (task.status === 'running') return text ?? live ?? (run === undefined ? pauseText(task) : undefined);
  if ((text ?? live) !== undefined) return text ?? live;
  const waits = await dependenciesText(context, task);
  if (run !== undefined)
    return run.backlogText === undefined
      ? 'It is about to be checked and submitted.'
      : `${waits ?? 'Ready; queued behind other tasks. '}${run.backlogText}`;
  if (holder === undefined)
    return `${waits ?? ''}The batch is not running. ${featureHint(task) ?? hintText('start')}`;
  return `${waits ?? 'Ready; queued behind other tasks. '}The batch is running in ${holderText(holder)}, with ${record.counts.running} running and ${record.counts.open} open${limitText(record.options)}.`;
}

/** Describes the pending retry of a task that another process runs. */
function pauseText({ pause }: TaskRecord): string | undefined {
  if (pause === undefined) return undefined;
  const when = spanText(Math.max(0, pause.until - Date.now()));
  const { reason, message = '' } = pause;
  return `It will be retried in ${when}; the last attempt failed: ${oneLine(message === '' ? reason : message, MAX_ATTEMPT_MESSAGE)}`;
}

/** Explains which dependencies keep an open task from running. */
async function dependenciesText(
  { store }: BatchContext,
  { batch, options }: TaskRecord,
): Promise<string | undefined> {
  const { dependsOn = [], onDependencyFailure = 'skip', item } = options;
  const group = item && (await store.task(batch, item.group));
  if (group !== undefined) return itemWaitText(group);
  const found = [...(await store.tasksById(batch, dependsOn)).values()];
  const ended = found.filter(({ status }) => !['open', 'running', 'completed'].includes(status));
  if (ended.length > 0 && onDependencyFailure === 'skip')
    return `It will be skipped, because it depends on ${namesText(ended)}. `;
  const waited = found.filter(({ status }) => status === 'open' || status === 'running');
  return waited.length === 0 ? undefined : `It is waiting for ${namesText(waited)}. `;
}

function itemWaitText({ id, status, options: { maxConcurrent } }: TaskRecord): string {
  if (status === 'open') return `It runs when its group ${id} runs. `;
  return maxConcurrent === undefined
    ? 'Ready; queued behind other tasks. '
    : `It is waiting for other items of ${id}, of which at most ${maxConcurrent} run at once. `;
}

function namesText(tasks: readonly TaskSummary[]): string {
  const names = tasks.slice(0, MAX_NAMED).map(({ id, status }) => `${id} (${status})`);
  return listText(names, tasks.length);
}

/** The concurrency limit of the current run, if it has one. */
function limitText(options: string | undefined): string {
  const { maxConcurrency } = JSON.parse(options ?? '{}') as { maxConcurrency?: unknown };
  return typeof maxConcurrency === 'number' ? `, at most ${maxConcurrency} at once` : '';
}

/** Describes how and when a task ended, and what to do. The subject of the sentence is the task. Undefined before its end. */
async function endedText(
  context: Pick<BatchContext, 'store'>,
  task: TaskRecord,
): Promise<string | undefined> {
  switch (task.status) {
    case 'open':
    case 'running':
      return undefined;
    case 'completed':
      if (task.cached)
        return `completed from the cache${tookText(task)}${agoText(task)}: an earlier call had the same arguments and read the same inputs.`;
      return linesText(
        `completed after ${attemptsText(task)}${tookText(task)}${agoText(task)}.`,
        transcriptHint(task),
      );
    case 'failed':
      return linesText(
        `failed with reason "${task.reason}" after ${attemptsText(task)}${tookText(task)}${agoText(task)}:`,
        oneLine(task.message ?? '', MAX_MESSAGE),
        featureHint(task) ?? hintText('retry'),
      );
    case 'cancelled':
      return linesText(
        `was cancelled${agoText(task)}: ${oneLine(task.message ?? '', MAX_MESSAGE)}`,
        featureHint(task) ?? hintText('retry'),
      );
    case 'skipped':
      return skippedText(context, task);
  }
}

/** `one attempt on build-1`, `3 attempts`. */
function attemptsText(task: TaskRecord): string {
  const { attempts, worker } = task;
  if (attempts <= 1) return attempts === 0 ? 'no attempts' : `one attempt${workerText(task)}`;
  return `${attempts} attempts${worker === undefined ? '' : `, the last${workerText(task)},`}`;
}

async function skippedText({ store }: Pick<BatchContext, 'store'>, task: TaskRecord): Promise<string> {
  const { batch, cause } = task;
  const root = cause === undefined ? undefined : await store.task(batch, cause);
  if (root === undefined) {
    return cause === undefined
      ? `was skipped${agoText(task)}: ${oneLine(task.message ?? 'it runs only if a dependency fails.', MAX_MESSAGE)}`
      : `was skipped${agoText(task)} because of ${cause}, which was cleared.`;
  }
  return linesText(
    `was skipped${agoText(task)} because of ${taskText(root)}, which ${rootText(root)}${root.message === undefined ? '.' : ':'}`,
    root.message === undefined ? undefined : oneLine(root.message, MAX_MESSAGE),
    featureHint(root) ?? hintText('retryCause', cause),
  );
}

function rootText({ status }: TaskRecord): string {
  if (status === 'completed') return 'has since completed';
  if (status === 'cancelled' || status === 'skipped') return `was ${status}`;
  return status === 'failed' ? 'failed' : `is ${status} again`;
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
