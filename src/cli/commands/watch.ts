import { setTimeout as sleep } from 'node:timers/promises';
import { hasSucceeded } from '../../batch/counts.ts';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import { lessBy } from '../../batch/run/prediction.ts';
import { pauseFacts, statusData } from '../../batch/status.ts';
import type { BatchView } from '../../batch/view.ts';
import { createDisplay } from '../display/create-display.ts';
import { taskLabel } from '../display/view.ts';
import { EXIT } from '../output/io.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { addHelpNote } from '../program/help.ts';
import { BATCH_OPTION } from '../program/options.ts';
import { chosenBatch, printAnswer } from '../session/ask.ts';
import { viewBatch, withSession } from '../session/session.ts';

interface WatchOptions extends CommonOptions {
  readonly batch?: string;
}

const POLL_MS = 250;
const PROGRESS_POLL_MS = 1000;
const PROGRESS_STALE_MS = 5000;

export const watchCommand = defineCommand<WatchOptions>({
  examples: ['volley watch', 'volley watch --batch audit'],
  declare: (program) =>
    addHelpNote(
      program.option(...BATCH_OPTION),
      'With --json, prints the status on a line of its own several times a second until the batch ends.',
    ),
  run: (_, { batch: named, json = false, ...options }, io) =>
    withSession(options, io, async ({ executor, store }) => {
      const batch = await chosenBatch(store, named);
      const { stderr, env } = io;
      const progress = new RemoteProgress(executor);
      const look = async () => progress.addTo(await viewBatch({ executor, store }, batch));
      let view = await look();
      const labeled = () => ({
        ...view,
        facts: pauseFacts(view),
        running: view.running.map((task) => ({ ...task, name: taskLabel(task) })),
      });
      const display = json ? undefined : createDisplay({ stream: stderr.raw, env, view: labeled });
      try {
        while (view.state !== 'idle') {
          if (json) io.stdout.writeJson(watchData(view));
          display?.changed();
          await sleep(POLL_MS);
          view = await look();
        }
      } finally {
        display?.close();
        await progress.close();
      }
      const answer = await executor.handle({ action: 'status', batch });
      if (json) io.stdout.writeJson(watchData(view));
      else printAnswer(answer, options, io);
      return hasSucceeded(view) ? EXIT.ok : EXIT.failed;
    }),
});

/** Like `status --json`. */
function watchData(view: BatchView): object {
  return { ok: true, ...statusData(view, [], true), progress: view.progress };
}

/**
 * The rate, the remaining time and the pauses of a batch that another process runs. The rest is in the store, but only
 * that process knows these. It is asked in the background.
 */
class RemoteProgress {
  private latest: Awaited<ReturnType<BatchExecutor['speed']>>;
  /** By the monotonic clock. */
  private answeredAt = 0;
  private askedAt = Number.NEGATIVE_INFINITY;
  private pending: Promise<void> | undefined;

  constructor(private readonly executor: Pick<BatchExecutor, 'speed'>) {}

  addTo(view: BatchView): BatchView {
    if (view.state !== 'elsewhere') return view;
    const now = performance.now();
    if (this.pending === undefined && now - this.askedAt >= PROGRESS_POLL_MS)
      this.pending = this.ask(view.name);
    const age = now - this.answeredAt;
    if (this.latest === undefined || age > PROGRESS_STALE_MS) return view;
    const { ratePerSecond, timeLeft, pauses } = this.latest;
    return { ...view, ratePerSecond, timeLeft: timeLeft && lessBy(timeLeft, age), pauses };
  }

  /** The store must stay open until then. */
  async close(): Promise<void> {
    await this.pending;
  }

  private async ask(batch: string): Promise<void> {
    this.askedAt = performance.now();
    try {
      this.latest = await this.executor.speed(batch);
      this.answeredAt = performance.now();
    } catch {
      // A busy process, or one of an older version, does not answer.
    } finally {
      this.pending = undefined;
    }
  }
}
