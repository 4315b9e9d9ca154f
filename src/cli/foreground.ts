import type { BatchAnswer } from '../batch/answer.ts';
import { createDisplay } from './display/create-display.ts';
import type { Io } from './io.ts';
import type { Session } from './session.ts';
import { viewOf } from './view-of.ts';

export interface ForegroundOptions {
  readonly batch: string;
  /** What `start` is asked, besides the batch. */
  readonly start: Readonly<Record<string, unknown>>;
  /** Whether to show each completed task too. */
  readonly verbose: boolean;
  /** Whether to show nothing while it runs. */
  readonly quiet: boolean;
}

export interface ForegroundEnd {
  readonly answer: BatchAnswer;
  readonly wasInterrupted: boolean;
}

const REFRESH_MS = 100;

/** Runs a batch to its end while the user watches. The first Ctrl-C stops it gracefully, the second at once. */
export async function runInForeground(
  { executor }: Session,
  { batch, start, verbose, quiet }: ForegroundOptions,
  { stderr, env }: Io,
): Promise<ForegroundEnd> {
  let interrupts = 0;
  const view = () => ({
    ...viewOf(executor, batch),
    ...(interrupts === 1 && { note: 'Stopping when what runs has ended. Ctrl-C again ends it now.' }),
  });
  const display = quiet ? undefined : createDisplay({ stream: stderr, env, view });
  const stop = () => {
    interrupts++;
    void executor.handle({ action: 'stop', batch, graceful: interrupts === 1 });
    display?.changed();
  };
  const unlisten = executor.watch({
    failed: (task) => display?.failed(task),
    completed: (task) => {
      if (verbose) display?.completed(task);
    },
  });
  const timer = setInterval(() => display?.changed(), REFRESH_MS);
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    const answer = await executor.handle({ action: 'start', batch, wait: true, ...start });
    return { answer, wasInterrupted: interrupts > 0 };
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    clearInterval(timer);
    unlisten();
    display?.close();
  }
}
