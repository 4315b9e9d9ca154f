import type { BatchAnswer } from '../../batch/answer.ts';
import type { WaitingTask } from '../../batch/run/holder-requests.ts';
import type { RunningTask } from '../../batch/run/monitor.ts';
import { pauseFacts } from '../../batch/status.ts';
import type { BatchView } from '../../batch/view.ts';
import { createDisplay } from '../display/create-display.ts';
import { type DisplayedBatch, taskLabel } from '../display/view.ts';
import type { Io } from '../output/io.ts';
import { onStopSignals, type StopRequest } from '../program/stop-signals.ts';
import type { Session } from './session.ts';

export interface ForegroundOptions {
  readonly batch: string;
  /** The other fields of the `start` request. */
  readonly start: Readonly<Record<string, unknown>>;
  /** Show completed tasks, too. */
  readonly verbose: boolean;
  /** Show nothing while it runs. */
  readonly quiet: boolean;
  /** How to show a task. Default: its name and its tool. */
  readonly labelOf?: (task: LabeledTask) => TaskLabel;
  /** More to show. Then the rate is left out: few long tasks have none worth knowing. */
  readonly detail?: () => Pick<DisplayedBatch, 'facts' | 'waiting'>;
  /** Whether a task that has started only waits, so that it does not count as running. */
  readonly isIdle?: (task: LabeledTask) => boolean;
}

interface TaskLabel {
  readonly name: string;
  readonly function: string;
  readonly step?: string | undefined;
  readonly note?: string | undefined;
}

interface LabeledTask extends TaskLabel {
  readonly id: string;
}

export interface ForegroundEnd {
  readonly answer: BatchAnswer;
  readonly wasInterrupted: boolean;
}

/** Further failures of a group are counted only. */
const MAX_FAILED_ITEMS = 3;
const NOTES: Readonly<Record<StopRequest, string>> = {
  gracefully: 'Finishing running tasks, then stopping. Press Ctrl-C again to cancel them.',
  now: 'Cancelling running tasks. Those that are safe to repeat run again on the next start; the others need a retry.',
};

/** How often to find out why nothing runs. */
const LOOK_MS = 2000;

/**
 * Why nothing runs, such as that no worker has what a task needs. Only what stays the same is said: a wait that ends by
 * itself has another text at the next look, because its time is in it.
 */
class Standstill {
  note: string | undefined;
  private last: string | undefined;
  private nextLookAt = 0;

  constructor(private readonly waiting: () => Promise<readonly WaitingTask[]>) {}

  async look({ running, counts }: Pick<BatchView, 'running' | 'counts'>): Promise<void> {
    if (running.length > 0 || counts.open === 0) {
      this.note = undefined;
      this.last = undefined;
      return;
    }
    if (performance.now() < this.nextLookAt) return;
    this.nextLookAt = performance.now() + LOOK_MS;
    const [first] = await this.waiting();
    const found = first && `Nothing is running. ${first.id}: ${first.text}.`;
    this.note = found === this.last ? found : undefined;
    this.last = found;
  }
}

/** Runs a batch in the foreground until it ends or a signal stops it. */
export async function runInForeground(
  session: Session,
  { batch, start, verbose, quiet, labelOf = plainLabel, detail, isIdle = () => false }: ForegroundOptions,
  { stderr, env }: Io,
): Promise<ForegroundEnd> {
  const { executor, handle } = session;
  let asked: StopRequest | undefined;
  let isStopping = false;
  const standstill = new Standstill(async () => {
    const { data } = await handle({ action: 'status', batch });
    return (data['waiting'] as readonly WaitingTask[] | undefined) ?? [];
  });
  const note = () => (isStopping && asked !== undefined ? NOTES[asked] : standstill.note);
  const shown = <T extends LabeledTask>(task: T): T => ({ ...task, ...labelOf(task) });
  const failedItems = new Map<string, number>();
  const counted = <T extends RunningTask>(task: T): T => {
    const failed = failedItems.get(task.id);
    if (failed === undefined || task.step === undefined) return task;
    return { ...task, step: `${task.step}, ${failed} failed` };
  };
  // The display draws on its own schedule, from the last view that was read.
  let latest = quiet ? undefined : await executor.view(batch);
  const view = () => ({
    ...latest!,
    ...(detail && { ratePerSecond: undefined, ...detail() }),
    facts: [...(detail?.().facts ?? []), ...pauseFacts(latest!)],
    idle: latest!.running.filter(isIdle).length,
    running: latest!.running.filter((task) => !isIdle(task)).map((task) => shown(counted(task))),
  });
  const display = latest === undefined ? undefined : createDisplay({ stream: stderr.raw, env, view, note });
  const refresh = async () => {
    // The run itself reports problems of the store.
    latest = (await executor.view(batch).catch(() => undefined)) ?? latest;
    await standstill.look(latest!).catch(() => undefined);
    display?.changed();
  };
  const stop = (request: StopRequest) => {
    asked = request;
    const hasStopped = () => {
      isStopping = true;
      display?.changed();
    };
    // If the request fails, the batch and the display go on.
    handle({ action: 'stop', batch, graceful: request === 'gracefully' }).then(hasStopped, () => undefined);
  };
  const unlisten = executor.follow((event) => {
    if (event.type === 'failed') {
      const { group } = event;
      const count = group === undefined ? 0 : (failedItems.get(group) ?? 0) + 1;
      if (group !== undefined) failedItems.set(group, count);
      if (count <= MAX_FAILED_ITEMS) display?.failed({ ...shown(event), attempts: event.attempt });
    } else if (event.type === 'completed' && verbose && event.group === undefined) {
      display?.completed(shown(event));
    }
  });
  const timer = display && setInterval(() => void refresh(), display.refreshMs);
  const ignoreSignals = onStopSignals(stop);
  display?.changed();
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

function plainLabel(task: LabeledTask): TaskLabel {
  return { name: taskLabel(task), function: task.function };
}
