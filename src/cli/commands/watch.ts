import { setTimeout as sleep } from 'node:timers/promises';
import { statusData } from '../../batch/status.ts';
import type { BatchView } from '../../batch/view.ts';
import { chosenBatch, printAnswer } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { createDisplay } from '../display/create-display.ts';
import { addHelpNote } from '../help.ts';
import { EXIT } from '../io.ts';
import { BATCH_OPTION } from '../options.ts';
import { withSession } from '../session.ts';
import { SpeedElsewhere } from '../speed-elsewhere.ts';
import { ownLabel } from '../task-label.ts';
import { viewOf } from '../view-of.ts';

interface WatchOptions extends CommonOptions {
  readonly batch?: string;
}

/** Another process runs the batch: how it stands is read from the store, and how fast it goes is asked. */
const LOOK_MS = 250;

export const watchCommand = defineCommand<WatchOptions>({
  examples: ['volley watch', 'volley watch --batch audit'],
  declare: (program) =>
    addHelpNote(
      program.option(...BATCH_OPTION),
      'With --json, every look at the batch is a line of its own, until it ends; the last one tells how.',
    ),
  run: (_, { batch: named, json = false, ...options }, io) =>
    withSession(options, io, async ({ executor, store }) => {
      const batch = await chosenBatch(store, named);
      const { stderr, env } = io;
      const speed = new SpeedElsewhere(executor);
      const look = async () => speed.addTo(await viewOf({ executor, store }, batch));
      let view = await look();
      const display = json
        ? undefined
        : createDisplay({ stream: stderr.raw, env, view: () => labelled(view) });
      try {
        while (view.state !== 'idle') {
          if (json) io.stdout.writeJson(dataOf(view));
          display?.changed();
          await sleep(LOOK_MS);
          view = await look();
        }
      } finally {
        display?.close();
        await speed.close();
      }
      const answer = await executor.handle({ action: 'status', batch });
      if (json) io.stdout.writeJson(dataOf(view));
      else printAnswer(answer, options, io);
      return view.counts.completed === view.total ? EXIT.ok : EXIT.failed;
    }),
});

function labelled(view: BatchView): BatchView {
  return { ...view, running: view.running.map((task) => ({ ...task, name: ownLabel(task) })) };
}

/** In the words of `status --json`. */
function dataOf(view: BatchView): object {
  return { ok: true, ...statusData(view, [], true), progress: view.progress };
}
