import type { TaskStatus } from '../../store/records.ts';
import { EXIT } from '../output/io.ts';
import { rewriteAnswer } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { BATCH_OPTION } from '../program/options.ts';
import { chosenBatch } from '../session/ask.ts';
import { viewBatch, withSession } from '../session/session.ts';

interface ExplainOptions extends CommonOptions {
  readonly batch?: string;
}

/** What to explain without an id: problems first, then what has not started. */
const EXPLAINED: readonly TaskStatus[] = ['failed', 'cancelled', 'skipped', 'running', 'open'];
const MAX_PER_STATUS = 3;

export const explainCommand = defineCommand<ExplainOptions>({
  examples: [
    'volley explain',
    'volley explain copy',
    'volley explain "read[3]"',
    'volley explain analyze-3 --batch audit --json',
  ],
  declare: (program) =>
    program
      .argument('[id]', 'the task (default: the first few that did not complete)')
      .option(...BATCH_OPTION),
  run: ([id], { batch: named, json = false, ...options }, io) =>
    withSession(options, io, async ({ executor, store }) => {
      const batch = await chosenBatch(store, named);
      const { counts } = await viewBatch({ executor, store }, batch);
      // A group says how its items stand; a failed item says why.
      const first = (status: TaskStatus) =>
        store.tasks(batch, { status: [status], limit: MAX_PER_STATUS, withoutItems: status !== 'failed' });
      const ids = id === undefined ? (await Promise.all(EXPLAINED.map(first))).flat() : [{ id }];
      const reports = await Promise.all(ids.map((task) => executor.report(batch, task.id)));
      if (json) {
        io.stdout.writeJson({ ok: true, batch, tasks: reports });
        return EXIT.ok;
      }
      const texts = reports.map(({ text }) =>
        rewriteAnswer(text, { batch, config: options.config }, io).replaceAll('\n', '\n  '),
      );
      const left = EXPLAINED.reduce((sum, status) => sum + counts[status], 0) - reports.length;
      if (id === undefined && reports.length === 0)
        texts.push(`All ${counts.completed} tasks in batch "${batch}" completed.`);
      if (id === undefined && left > 0) texts.push(`${left} more. To explain one, give its id.`);
      io.stdout.write(`${texts.join('\n\n')}\n`);
      return EXIT.ok;
    }),
});
