import { usageText } from '../../../src/agents/usage.ts';
import { spanText } from '../../../src/core/words.ts';
import type { Batch, Execution } from '../api/wire.ts';

export type BatchStateShown = Batch['state'] | 'stopped' | 'done' | 'failed' | 'empty';

export const BATCH_STATE_TEXT: Readonly<Record<BatchStateShown, string>> = {
  running: 'Running',
  stopping: 'Stopping',
  elsewhere: 'Runs elsewhere',
  idle: 'Not started',
  stopped: 'Stopped',
  done: 'Done',
  failed: 'Ended with failures',
  empty: 'Empty',
};

/** The text for an idle batch depends on what became of its tasks. */
export function batchState({ state, counts, total, succeeded, started_at }: Batch): BatchStateShown {
  if (state !== 'idle') return state;
  if (total === 0) return 'empty';
  if (counts.open + counts.running > 0) return started_at === null ? 'idle' : 'stopped';
  return succeeded ? 'done' : 'failed';
}

/**
 * How long its run has taken or took: of several, the last. Nobody knows of one that never started, nor of one whose
 * process died.
 */
export function runLength({ state, started_at, ended_at }: Batch, now: number): number | undefined {
  const end = state === 'idle' ? ended_at : now;
  return started_at === null || end === null || end < started_at ? undefined : end - started_at;
}

/** `just now`, `5 min ago`, `3 h ago`, then the day. */
export function agoText(at: number, now: number): string {
  const ms = Math.max(0, now - at);
  if (ms < 60_000) return ms < 10_000 ? 'just now' : `${Math.floor(ms / 1000)} s ago`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  if (ms < 24 * 3_600_000) return `${Math.floor(ms / 3_600_000)} h ago`;
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
}

/** The time of day to the second; with the day where that is not today. */
export function timeText(at: number, now: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString('en-GB');
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`;
}

/** `48210 tokens, $0.42` */
export function spendingText(spent: Pick<Execution, 'input_tokens' | 'output_tokens' | 'cost_usd'>): string {
  const { input_tokens, output_tokens, cost_usd } = spent;
  return usageText({
    inputTokens: input_tokens ?? 0,
    outputTokens: output_tokens ?? 0,
    ...(cost_usd !== null && { costUsd: cost_usd }),
  });
}

/** A running one is shown in whole seconds: tenths that jump are noise. */
export function durationText(ms: number, isRunning: boolean): string {
  return isRunning ? spanText(Math.floor(ms / 1000) * 1000) : spanText(ms);
}

/** `1.4 KB`, `3 MB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  if (bytes < 1_000_000) return `${Number((bytes / 1000).toFixed(1))} KB`;
  return `${Number((bytes / 1_000_000).toFixed(1))} MB`;
}

/**
 * What people call an execution. One that was given no name carries that of its function, which distinguishes nothing, and
 * an item that of its group.
 */
export function titleOf({
  id,
  name,
  function: functionName,
  group,
}: Pick<Execution, 'id' | 'name' | 'function' | 'group'>): string {
  return name === '' || name === functionName || group !== null ? id : name;
}
