import type { BatchAnswer } from '../batch/answer.ts';
import { createDisplay } from './display/create-display.ts';
import type { Io } from './io.ts';
import type { Session } from './session.ts';
import { ownLabel } from './task-label.ts';
import { viewOf } from './view-of.ts';

export interface ForegroundOptions {
  readonly batch: string;
  /** What `start` is asked, besides the batch. */
  readonly start: Readonly<Record<string, unknown>>;
  /** Whether to show each completed task too. */
  readonly verbose: boolean;
  /** Whether to show nothing while it runs. */
  readonly quiet: boolean;
  /** How to show a task, where its name and its tool alone say too little. */
  readonly labelOf?: (task: LabelledTask) => TaskLabel;
}

interface TaskLabel {
  readonly name: string;
  readonly function: string;
}

interface LabelledTask extends TaskLabel {
  readonly id: string;
}

export interface ForegroundEnd {
  readonly answer: BatchAnswer;
  readonly wasInterrupted: boolean;
}

const REFRESH_MS = 100;
const STOPPING = 'Stopping when what runs has ended. Ctrl-C again ends it now.';
/** The last one comes when the terminal is closed. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs a batch to its end while the user watches. The first Ctrl-C stops it gracefully, the second at once. */
export async function runInForeground(
  session: Session,
  { batch, start, verbose, quiet, labelOf = plainLabel }: ForegroundOptions,
  { stderr, env }: Io,
): Promise<ForegroundEnd> {
  const { executor, handle } = session;
  let interrupts = 0;
  let isStopping = false;
  const note = () => (isStopping && interrupts === 1 ? STOPPING : undefined);
  const shown = <T extends LabelledTask>(task: T): T => ({ ...task, ...labelOf(task) });
  const view = () => {
    const now = viewOf(session, batch);
    return { ...now, running: now.running.map(shown) };
  };
  const display = quiet ? undefined : createDisplay({ stream: stderr, env, view, note });
  const stop = () => {
    interrupts++;
    const hasStopped = () => {
      isStopping = true;
      display?.changed();
    };
    // If it does not get there, the batch goes on, and so does this display.
    handle({ action: 'stop', batch, graceful: interrupts === 1 }).then(hasStopped, () => undefined);
  };
  const unlisten = executor.watch({
    failed: (task) => display?.failed(shown(task)),
    completed: (task) => {
      if (verbose) display?.completed(shown(task));
    },
  });
  const timer = setInterval(() => display?.changed(), REFRESH_MS);
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  try {
    const answer = await handle({ action: 'start', batch, wait: true, ...start });
    return { answer, wasInterrupted: interrupts > 0 };
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, stop);
    clearInterval(timer);
    unlisten();
    display?.close();
  }
}

function plainLabel(task: LabelledTask): TaskLabel {
  return { name: ownLabel(task), function: task.function };
}
