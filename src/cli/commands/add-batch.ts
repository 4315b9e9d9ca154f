import { addBatchAction } from '../../batch/actions/add-batch.ts';
import { checkInput } from '../../batch/input/check.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { listText } from '../../core/words.ts';
import { batchNameOf, newTasks, withIds } from '../input/collect-tasks.ts';
import { locateErrors, locateInAnswer } from '../input/problem-places.ts';
import { readTaskFile } from '../input/task-file.ts';
import { createColors, wantsColors } from '../output/colors.ts';
import { EXIT } from '../output/io.ts';
import { programName } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { FILE_BATCH_OPTION } from '../program/options.ts';
import { printAnswer } from '../session/ask.ts';
import { withOwnStore } from '../session/session.ts';

interface AddBatchOptions extends CommonOptions {
  readonly batch?: string;
}

export const addBatchCommand = defineCommand<AddBatchOptions>({
  examples: addBatchAction.cli.examples,
  declare: (program) =>
    program
      .argument('<file>', 'JSON, JSON Lines, YAML or TOML; - for standard input')
      .option(...FILE_BATCH_OPTION),
  run: async ([file], { batch, ...options }, io) => {
    const read = await readTaskFile(file!, io.stdin, io.cwd);
    const { batch: own, ...ofRun } = read.settings;
    const name = batch ?? own ?? batchNameOf(file!);
    const tasks = withIds(read.tasks);
    const located = { tasks: read.tasks, file: read };
    const status = await withOwnStore(options, io, async ({ handle, store }) => {
      // Files are read strictly; only requests of agents are interpreted.
      await locateErrors(located, tasks, async () =>
        checkInput(addBatchAction.schema, 'add_batch', { batch: name, tasks }),
      );
      const chosen = tasks.filter((_, index) => read.tasks[index]!['id'] === undefined);
      const known = chosen.length - (await newTasks(store, String(name), chosen)).length;
      if (known > 0) throw addedBefore(String(name), known, tasks.length, file!);
      const answer = await handle({ action: 'add_batch', tasks, batch: name });
      return printAnswer(await locateInAnswer(answer, tasks, { tasks, file: read }), options, io);
    });
    const unused = Object.keys(ofRun);
    if (status === EXIT.ok && unused.length > 0) {
      const { yellow } = createColors(wantsColors(io.stderr, io.env));
      io.stderr.writeStyled(
        `${yellow('note')} add-batch does not keep the settings ${listText(unused)} of the file. Pass them to ${programName(io)} start, or use ${programName(io)} run.\n`,
      );
    }
    return status;
  },
});

/** The ids of tasks without one follow from their content, so the same file gives the same ids. */
function addedBefore(batch: string, known: number, total: number, file: string): VolleyError {
  const which =
    known < total ? `${known} of these ${total} tasks` : total === 1 ? 'this task' : `these ${total} tasks`;
  return new VolleyError(
    'DUPLICATE_ID',
    `The batch ${JSON.stringify(batch)} already has ${which}. To run them again, choose another --batch, or run volley clear first. To add only new tasks and run the batch, use volley run ${shellQuote(file)}.`,
    { batch, known, total },
  );
}
