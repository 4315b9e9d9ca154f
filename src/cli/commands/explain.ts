import type { TaskStatus } from '../../store/records.ts';
import { chosenBatch } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { EXIT } from '../io.ts';
import { BATCH_OPTION } from '../options.ts';
import { commandWords } from '../output/command-words.ts';
import { withSession } from '../session.ts';
import { viewOf } from '../view-of.ts';

interface ExplainOptions extends CommonOptions {
  readonly batch?: string;
}

/** What somebody asks about who names no task: what went wrong, and what has not begun. */
const ASKED_FOR: readonly TaskStatus[] = ['failed', 'cancelled', 'skipped', 'running', 'open'];
const MAX_OF_EACH = 3;

export const explainCommand = defineCommand<ExplainOptions>({
  examples: ['volley explain', 'volley explain copy', 'volley explain analyze-3 --batch audit --json'],
  declare: (program) =>
    program
      .argument('[id]', 'the task; without it, the first few that did not complete')
      .option(...BATCH_OPTION),
  run: ([id], { batch: named, json = false, ...options }, io) =>
    withSession(options, io, async ({ executor, store }) => {
      const batch = await chosenBatch(store, named);
      const { counts } = await viewOf({ executor, store }, batch);
      const first = (status: TaskStatus) => store.tasks(batch, { status: [status], limit: MAX_OF_EACH });
      const ids = id === undefined ? (await Promise.all(ASKED_FOR.map(first))).flat() : [{ id }];
      const reports = await Promise.all(ids.map((task) => executor.report(batch, task.id)));
      if (json) {
        io.stdout.writeJson({ ok: true, batch, tasks: reports });
        return EXIT.ok;
      }
      const texts = reports.map(({ text }) =>
        commandWords(text, { batch, config: options.config }, io).replaceAll('\n', '\n  '),
      );
      const left = ASKED_FOR.reduce((sum, status) => sum + counts[status], 0) - reports.length;
      if (id === undefined && reports.length === 0)
        texts.push(`All ${counts.completed} tasks of the batch "${batch}" have completed.`);
      if (id === undefined && left > 0) texts.push(`And ${left} more: name one to hear of it.`);
      io.stdout.write(`${texts.join('\n\n')}\n`);
      return EXIT.ok;
    }),
});
