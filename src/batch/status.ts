import { scopeText } from '../core/explanation-text.ts';
import type { TimeLeft } from '../core/predict.ts';
import { roundedText, spanText } from '../core/words.ts';
import { clockText } from '../engine/clock.ts';
import type { BatchRecord } from '../store/records.ts';
import type { ActionResult } from './answer.ts';
import { type BatchContext, unknownBatchError } from './context.ts';
import { countsText, endedOf, hasSucceeded } from './counts.ts';
import { hintText } from './hints.ts';
import { askWhy, holderText, type WaitingTask } from './run/holder-requests.ts';
import type { FailedTask, RunningTask } from './run/monitor.ts';
import { spendingFields, spendingText } from './run/spending.ts';
import { explainTask } from './task-report.ts';
import { linesText, oneLine, runProblemText, taskText, workerText } from './text.ts';
import { type BatchView, MAX_RUNNING, readView } from './view.ts';

const MAX_EXPLAINED = 5;
const MAX_INSPECTED = 100;

/** The answer to `status`. */
export async function statusOf(
  context: BatchContext,
  batch: string,
  detailed: boolean,
): Promise<ActionResult> {
  const read = await readView(batch, context);
  if (read === undefined) throw await unknownBatchError(context.store, batch);
  const run = context.runs.current(batch);
  const max = detailed ? MAX_EXPLAINED : 1;
  const live = read.holder && (await askWhy(context, batch, read.holder, max));
  const view = live === undefined ? read : { ...read, ...live.speed };
  const waiting =
    run?.explainWaiting(max) ??
    live?.waiting ??
    (view.state === 'elsewhere' ? await waitingElsewhere(context, batch, detailed) : []);
  return {
    text: linesText(statusText(view, waiting, detailed), view.problem),
    data: { ...statusData(view, waiting, detailed) },
  };
}

/** The first tasks that another process will retry or has not started, as far as the store knows. */
async function waitingElsewhere(
  context: BatchContext,
  batch: string,
  detailed: boolean,
): Promise<WaitingTask[]> {
  const { store } = context;
  const running = await store.tasks(batch, { status: ['running'], limit: MAX_INSPECTED });
  const pausing = running.filter(({ pause }) => pause !== undefined);
  const open = detailed ? await store.tasks(batch, { status: ['open'], limit: MAX_EXPLAINED }) : [];
  const first = [...pausing, ...open].slice(0, detailed ? MAX_EXPLAINED : 1);
  const explained = first.map(async ({ id }) => ({
    id,
    text: (await explainTask(context, batch, id)) ?? '',
  }));
  return (await Promise.all(explained)).filter(({ text }) => text !== '');
}

const FEW = 3;
const MANY = 20;
const MAX_FAILURES = 10;

export function statusText(view: BatchView, waiting: readonly WaitingTask[], isDetailed: boolean): string {
  const running = runningShown(view, isDetailed);
  const more = moreRunning(view, isDetailed);
  const failures = view.lastFailures.slice(0, failuresShown(view, isDetailed));
  return linesText(
    `The batch "${view.name}" ${stateText(view)}. ${percentText(view)} completed; ${countsText(view.counts, 'task', view.cached)}.`,
    view.spending && `Models and agents: ${spendingText(view.spending)}.`,
    speedText(view),
    ...pauseTexts(view),
    section(`Running now (${runningNow(view)}):`, [
      ...running.map(runningText),
      ...(more > 0 ? [`and ${more} more`] : []),
    ]),
    section('Last failures:', failures.map(failureText)),
    section(
      'Waiting:',
      waiting.map(({ id, text }) => `${id} ${oneLine(text, 200)}`),
    ),
  );
}

/** `Paused until 15:30: codex reached its limit.` */
function pauseTexts({ pauses }: BatchView): string[] {
  return pauses
    .slice(0, FEW)
    .map(
      ({ scope, until }) =>
        `Paused until ${clockText(until, Date.now())}: ${scopeText(scope)} reached its limit.`,
    );
}

/** The same in short: `codex paused until 15:30`. */
export function pauseFacts({ pauses }: BatchView): string[] {
  return pauses
    .slice(0, FEW)
    .map(({ scope, until }) => `${scopeText(scope)} paused until ${clockText(until, Date.now())}`);
}

/** The data of `status` and `watch`. */
export function statusData(view: BatchView, waiting: readonly WaitingTask[], isDetailed: boolean): object {
  const { counts, total, timeLeft, holder } = view;
  return {
    batch: view.name,
    state: view.state,
    total,
    counts,
    ...(view.cached > 0 && { cached: view.cached }),
    ...(view.spending !== undefined && { spending: spendingFields(view.spending) }),
    done: counts.completed,
    ended: endedOf(counts),
    percent: Math.floor(view.progress * 1000) / 10,
    ...(view.ratePerSecond !== undefined && { rate_per_second: Number(roundedText(view.ratePerSecond)) }),
    ...(timeLeft !== undefined && {
      time_left: {
        low_seconds: seconds(timeLeft.lowMs),
        expected_seconds: seconds(timeLeft.expectedMs),
        high_seconds: seconds(timeLeft.highMs),
      },
    }),
    ...(view.maxConcurrency !== undefined && { max_concurrent: view.maxConcurrency }),
    ...(view.pauses.length > 0 && {
      paused: view.pauses.map(({ scope, until }) => ({ scope, until: timeText(until) })),
    }),
    running: runningShown(view, isDetailed).map(runningData),
    ...(moreRunning(view, isDetailed) > 0 && { more_running: moreRunning(view, isDetailed) }),
    last_failures: view.lastFailures.slice(0, failuresShown(view, isDetailed)).map(failureData),
    waiting,
    created_at: timeText(view.createdAt),
    ...(view.startedAt !== undefined && { started_at: timeText(view.startedAt) }),
    ...(view.endedAt !== undefined && { ended_at: timeText(view.endedAt) }),
    ...(holder !== undefined && { holder }),
    ...(view.problem !== undefined && { problem: view.problem }),
  };
}

/** A group stands for its items, unless details are wanted. */
function runningShown({ running }: BatchView, isDetailed: boolean): RunningTask[] {
  const tasks = running.filter(({ group }) => group === undefined);
  const items = isDetailed ? running.filter(({ group }) => group !== undefined) : [];
  return [...tasks, ...items].slice(0, isDetailed ? MANY : FEW);
}

/** How many tasks run now. A group is counted by its items. */
function runningNow({ running, counts }: BatchView): number {
  const groups = running.filter(({ isGroup }) => isGroup).length;
  return Math.max(running.length < MAX_RUNNING ? running.length : counts.running, groups) - groups;
}

/** How many running tasks are not shown. */
function moreRunning(view: BatchView, isDetailed: boolean): number {
  const { running, counts } = view;
  const listable = isDetailed ? running : running.filter(({ group }) => group === undefined);
  const unread = running.length < MAX_RUNNING ? 0 : Math.max(0, counts.running - running.length);
  return listable.length - runningShown(view, isDetailed).length + unread;
}

/** While a batch runs, its running tasks matter more than its failures. */
function failuresShown({ state }: BatchView, isDetailed: boolean): number {
  if (isDetailed) return MAX_FAILURES;
  return state === 'idle' ? FEW : 1;
}

function stateText({ state, holder, counts }: BatchView): string {
  switch (state) {
    case 'running':
      return 'is running';
    case 'stopping':
      return 'is stopping; running tasks may finish';
    case 'elsewhere':
      return `is running in ${holderText(holder!)}`;
    case 'idle':
      if (counts.running > 0) return 'is not running: the process that ran it died';
      return counts.open > 0 ? 'is not running' : 'has ended';
  }
}

/** Never 100 before the end. */
function percentText({ progress }: BatchView): string {
  return `${Math.floor(progress * 100)} %`;
}

function speedText({ ratePerSecond, timeLeft, state }: BatchView): string | undefined {
  if (state !== 'running') return undefined;
  const rate = ratePerSecond === undefined ? undefined : `${roundedText(ratePerSecond)} tasks a second`;
  const left = timeLeft === undefined ? undefined : timeLeftText(timeLeft);
  const parts = [rate, left].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : `${parts.join('; ')}.`;
}

function timeLeftText({ lowMs, expectedMs, highMs }: TimeLeft): string {
  return `about ${spanText(expectedMs)} left (${spanText(lowMs)} to ${spanText(highMs)})`;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `- ${line}`)];
}

function runningText(task: RunningTask): string {
  const share = task.progress === undefined ? '' : `, ${Math.floor(task.progress * 100)} %`;
  const step = task.step === undefined ? '' : `: ${oneLine(task.step, 100)}`;
  const attempt = task.attempt > 1 ? `, attempt ${task.attempt}` : '';
  return `${taskText(task)}, ${spanText(Math.max(0, Date.now() - task.startedAt))}${workerText(task)}${attempt}${share}${step}`;
}

function runningData({
  id,
  name,
  function: tool,
  group,
  attempt,
  startedAt,
  worker,
  progress,
  step,
}: RunningTask): object {
  return { id, name, function: tool, group, attempt, since: timeText(startedAt), worker, progress, step };
}

function failureText(task: FailedTask): string {
  return `${taskText(task)}: ${task.reason}: ${oneLine(task.message, 200)}`;
}

function failureData({ id, name, function: tool, reason, message, attempts, at }: FailedTask): object {
  return { id, name, function: tool, reason, message, attempts, at: timeText(at) };
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000;
}

/** Describes a batch that is not running. */
export function endText(
  record: BatchRecord,
  problem: unknown,
  /** Why it stopped by itself, if it did. */
  stopReason?: string,
): ActionResult {
  const { name, counts, cached, hasFailures, spending } = record;
  const { open, running } = counts;
  const remedy = hasFailures ? hintText('retryFailed') : undefined;
  // A run that gave up reports its problem. One without a problem has died.
  const hasDied = running > 0 && problem === undefined;
  const state = hasDied
    ? 'is not running: the process that ran it died'
    : open + running > 0
      ? 'is not running'
      : 'has ended';
  const left = hasDied
    ? hintText('recover')
    : open > 0 && problem === undefined
      ? hintText('startOpen')
      : undefined;
  return {
    text: linesText(
      problem === undefined ? undefined : runProblemText(problem),
      stopReason,
      `The batch "${name}" ${state}. It has ${countsText(counts, 'task', cached)}.`,
      spending && `Models and agents: ${spendingText(spending)}.`,
      remedy,
      left,
    ),
    data: {
      batch: name,
      state: 'idle',
      counts,
      ...(cached > 0 && { cached }),
      ...(spending !== undefined && { spending: spendingFields(spending) }),
      ...(stopReason !== undefined && { stopped: stopReason }),
      succeeded: hasSucceeded(record),
      ...(problem !== undefined && { problem: runProblemText(problem) }),
    },
  };
}
