import type { BatchAnswer } from '../batch/answer.ts';
import { createDisplay } from './display/create-display.ts';
import type { Io } from './io.ts';
import type { Session } from './session.ts';
import { onStopSignals, type StopRequest } from './stop-signals.ts';
import { ownLabel } from './task-label.ts';

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
const STOPPING = 'Finishing running tasks, then stopping. Press Ctrl-C again to cancel them.';

/** Runs a batch to its end while the user watches, or until a signal asks to stop. */
export async function runInForeground(
  session: Session,
  { batch, start, verbose, quiet, labelOf = plainLabel }: ForegroundOptions,
  { stderr, env }: Io,
): Promise<ForegroundEnd> {
  const { executor, handle } = session;
  let asked: StopRequest | undefined;
  let isStopping = false;
  const note = () => (isStopping && asked === 'gracefully' ? STOPPING : undefined);
  const shown = <T extends LabelledTask>(task: T): T => ({ ...task, ...labelOf(task) });
  // The display draws when it likes: it is given the last view that was read.
  let latest = quiet ? undefined : await executor.view(batch);
  const view = () => ({ ...latest!, running: latest!.running.map(shown) });
  const display = latest === undefined ? undefined : createDisplay({ stream: stderr.raw, env, view, note });
  const refresh = async () => {
    // What is wrong with the store is told by the run itself.
    latest = (await executor.view(batch).catch(() => undefined)) ?? latest;
    display?.changed();
  };
  const stop = (request: StopRequest) => {
    asked = request;
    const hasStopped = () => {
      isStopping = true;
      display?.changed();
    };
    // If it does not get there, the batch goes on, and so does this display.
    handle({ action: 'stop', batch, graceful: request === 'gracefully' }).then(hasStopped, () => undefined);
  };
  const unlisten = executor.follow((event) => {
    if (event.type === 'failed') display?.failed({ ...shown(event), attempts: event.attempt });
    else if (event.type === 'completed' && verbose) display?.completed(shown(event));
  });
  const timer = setInterval(() => void refresh(), REFRESH_MS);
  const ignoreSignals = onStopSignals(stop);
  try {
    const answer = await handle({ action: 'start', batch, wait: true, ...start });
    return { answer, wasInterrupted: asked !== undefined };
  } finally {
    ignoreSignals();
    clearInterval(timer);
    unlisten();
    display?.close();
  }
}

function plainLabel(task: LabelledTask): TaskLabel {
  return { name: ownLabel(task), function: task.function };
}
