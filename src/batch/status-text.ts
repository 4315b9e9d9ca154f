import type { TimeLeft } from '../core/predict.ts';
import { spanText } from '../core/words.ts';
import { countsText, endedOf } from './counts.ts';
import type { FailedTask, RunningTask } from './run/monitor.ts';
import { holderText, linesText, numberText, oneLine, taskText } from './text.ts';
import type { BatchView } from './view.ts';

export interface WaitingTask {
  readonly id: string;
  readonly text: string;
}

const FEW = 3;
const MANY = 20;
const MAX_FAILURES = 10;

export function statusText(view: BatchView, waiting: readonly WaitingTask[], isDetailed: boolean): string {
  const running = view.running.slice(0, isDetailed ? MANY : FEW);
  const failures = view.lastFailures.slice(0, failuresShown(view, isDetailed));
  return linesText(
    `The batch "${view.name}" ${stateText(view)}. ${percentText(view)} done; ${countsText(view.counts)}.`,
    speedText(view),
    section(`Running now (${view.counts.running}):`, running.map(runningText)),
    section('Last failures:', failures.map(failureText)),
    section(
      'Waiting:',
      waiting.map(({ id, text }) => `${id} ${oneLine(text, 200)}`),
    ),
  );
}

/** What `status` and `watch` tell programs. */
export function statusData(view: BatchView, waiting: readonly WaitingTask[], isDetailed: boolean): object {
  const { counts, total, timeLeft, holder } = view;
  return {
    batch: view.name,
    state: view.state,
    total,
    counts,
    done: endedOf(counts),
    percent: Math.floor(view.progress * 1000) / 10,
    ...(view.ratePerSecond !== undefined && { rate_per_second: Number(numberText(view.ratePerSecond)) }),
    ...(timeLeft !== undefined && {
      time_left: {
        low_seconds: seconds(timeLeft.lowMs),
        expected_seconds: seconds(timeLeft.expectedMs),
        high_seconds: seconds(timeLeft.highMs),
      },
    }),
    ...(view.maxConcurrency !== undefined && { max_concurrent: view.maxConcurrency }),
    running: view.running.slice(0, isDetailed ? MANY : FEW).map(runningData),
    last_failures: view.lastFailures.slice(0, failuresShown(view, isDetailed)).map(failureData),
    waiting,
    created_at: timeText(view.createdAt),
    ...(view.startedAt !== undefined && { started_at: timeText(view.startedAt) }),
    ...(view.endedAt !== undefined && { ended_at: timeText(view.endedAt) }),
    ...(holder !== undefined && { holder }),
    ...(view.problem !== undefined && { problem: view.problem }),
  };
}

/** While it runs, what is going on says more than what went wrong. */
function failuresShown({ state }: BatchView, isDetailed: boolean): number {
  if (isDetailed) return MAX_FAILURES;
  return state === 'idle' ? FEW : 1;
}

function stateText({ state, holder, counts }: BatchView): string {
  switch (state) {
    case 'running':
      return 'is running';
    case 'stopping':
      return 'is being stopped: what runs may finish';
    case 'elsewhere':
      return `is run by ${holderText(holder!)}`;
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
  const rate = ratePerSecond === undefined ? undefined : `${numberText(ratePerSecond)} tasks a second`;
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
  return `${taskText(task)}, ${spanText(Math.max(0, Date.now() - task.startedAt))}${attempt}${share}${step}`;
}

function runningData({ id, name, function: tool, attempt, startedAt, progress, step }: RunningTask): object {
  return { id, name, function: tool, attempt, since: timeText(startedAt), progress, step };
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
  return Math.round(ms / 100) / 10;
}
