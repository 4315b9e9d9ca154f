import { logsAction } from '../../batch/actions/logs.ts';
import { findTask } from '../../batch/context.ts';
import { droppedText, logLineText } from '../../batch/log-page.ts';
import { followTask } from '../../batch/task-log.ts';
import { VolleyError } from '../../core/errors.ts';
import { EXIT } from '../output/io.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { addHelpNote } from '../program/help.ts';
import { onStopSignals } from '../program/stop-signals.ts';
import { fieldOptions, fieldsOf } from '../session/action-command.ts';
import { askOfBatch, chosenBatch } from '../session/ask.ts';
import { withSession } from '../session/session.ts';

interface LogsOptions extends CommonOptions {
  readonly batch?: string;
  readonly id?: string;
  readonly follow?: boolean;
  readonly attempt?: number;
  readonly from?: number;
  readonly limit?: number;
}

const DEFAULT_LINES = 100;

export const logsCommand = defineCommand<LogsOptions & Readonly<Record<string, unknown>>>({
  examples: logsAction.cli.examples,
  declare: (program) => {
    program
      .argument('[batch]', 'the batch; leave it out if it is the only one, or `default`')
      .argument('[id]', 'the task')
      .option('--id <id>', 'the task, as an option');
    fieldOptions(program, logsAction, ['batch', 'attempt', 'from', 'limit', 'search']);
    addHelpNote(
      program.option('-f, --follow', 'show what comes until the task ends'),
      'A line that begins with `!` is of stderr, one with `»` is a step. With --follow and --json, each line is an object.',
    );
  },
  run: async ([first, second], options, io) => {
    const id = second ?? first ?? options.id;
    const batch = second === undefined ? options.batch : first;
    if (id === undefined)
      throw new VolleyError('INVALID_VALUE', 'Which task? Name it, as in: volley logs audit build');
    if (options.follow !== true)
      return askOfBatch({ action: 'logs', ...fieldsOf(logsAction, options), batch, id }, options, io);
    if (options['search'] !== undefined)
      throw new VolleyError('INVALID_VALUE', 'Pass either --search or --follow, not both.');
    return withSession(options, io, async ({ store }) => {
      const task = await findTask({ store }, await chosenBatch(store, batch), id);
      const controller = new AbortController();
      const unlisten = onStopSignals(() => controller.abort());
      const { attempt, from, limit = DEFAULT_LINES, json = false } = options;
      try {
        let isFirst = true;
        for await (const page of followTask(store, task, {
          attempt,
          from,
          limit,
          signal: controller.signal,
        })) {
          const dropped = isFirst ? droppedText(page) : undefined;
          isFirst = false;
          if (!json && dropped !== undefined) io.stderr.write(`${dropped}\n`);
          for (const line of page.lines) {
            if (json) io.stdout.writeJson({ attempt: page.attempt, ...line });
            else io.stdout.write(`${logLineText(line)}\n`);
          }
        }
      } finally {
        unlisten();
      }
      return controller.signal.aborted ? EXIT.interrupted : EXIT.ok;
    });
  },
});
