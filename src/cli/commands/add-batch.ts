import { addBatchAction } from '../../batch/actions/add-batch.ts';
import type { BatchAnswer } from '../../batch/answer.ts';
import { checkInput } from '../../batch/input/check.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { countText, listText } from '../../core/words.ts';
import { batchOfFile, newTasks, readTasks, withIds } from '../input/collect-tasks.ts';
import { LargeTaskFile } from '../input/large-file.ts';
import { locateErrors, locateInAnswer } from '../input/problem-places.ts';
import { createColors, wantsColors } from '../output/colors.ts';
import { EXIT } from '../output/io.ts';
import { programName } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { FILE_BATCH_OPTION } from '../program/options.ts';
import { checkLarge } from '../session/add-large.ts';
import { printAnswer } from '../session/ask.ts';
import { type Session, withOwnStore } from '../session/session.ts';

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
    const read = await readTasks(file!, io.stdin, io.cwd);
    if (read instanceof LargeTaskFile) await read.readSettings();
    const { batch: own, ...ofRun } = read.settings;
    const name = batch ?? own ?? batchOfFile(file!);
    const status = await withOwnStore(options, io, async (session) => {
      if (read instanceof LargeTaskFile) {
        const checked = checkInput(addBatchAction.schema.shape.batch, 'add_batch', name);
        return printAnswer(await addLarge(session, checked, read), options, io);
      }
      const tasks = withIds(read.tasks);
      const located = { tasks: read.tasks, file: read };
      // Files are read strictly; only requests of agents are interpreted.
      await locateErrors(located, tasks, async () =>
        checkInput(addBatchAction.schema, 'add_batch', { batch: name, tasks }),
      );
      const chosen = tasks.filter((_, index) => read.tasks[index]!['id'] === undefined);
      const known = chosen.length - (await newTasks(session.store, String(name), chosen)).length;
      if (known > 0) {
        const which =
          known < tasks.length
            ? `${known} of these ${tasks.length} tasks`
            : tasks.length === 1
              ? 'this task'
              : `these ${tasks.length} tasks`;
        throw addedBefore(String(name), which, file!, { known, total: tasks.length });
      }
      const answer = await session.handle({ action: 'add_batch', tasks, batch: name });
      return printAnswer(await locateInAnswer(answer, tasks, { tasks, file: read }), options, io);
    });
    const unused = Object.keys(ofRun);
    if (status === EXIT.ok && unused.length > 0) {
      const { yellow } = createColors(wantsColors(io.stderr, io.env));
      io.stderr.writeStyled(
        `${yellow('note')} add-batch ignores the settings ${listText(unused)} in the file. Pass them to ${programName(io)} start, or use ${programName(io)} run.\n`,
      );
    }
    return status;
  },
});

/** Checks all tasks of a large file, then adds them in parts. */
async function addLarge(session: Session, batch: string, file: LargeTaskFile): Promise<BatchAnswer> {
  const { lists } = await checkLarge(session, batch, file, async () => {
    throw addedBefore(batch, 'some of these tasks', file.name, {});
  });
  let added = 0;
  let answer: BatchAnswer | undefined;
  for await (const { tasks } of lists()) {
    answer = await session.handle({ action: 'add_batch', tasks, batch });
    if (!answer.ok) {
      const note = added === 0 ? '' : ` ${countText(added, 'task')} before it were added.`;
      return { ...answer, text: `${answer.text}${note}` };
    }
    added += tasks.length;
  }
  const { counts, state } = answer!.data;
  const text = `Added ${countText(added, 'task')} to the batch "${batch}".`;
  return { ok: true, action: 'add_batch', text, data: { batch, added, counts, state } };
}

/** The ids of tasks without one follow from their content, so the same file gives the same ids. */
function addedBefore(batch: string, which: string, file: string, details: object): VolleyError {
  return new VolleyError(
    'DUPLICATE_ID',
    `The batch ${JSON.stringify(batch)} already has ${which}. To run them again, choose another --batch, or run volley clear first. To add only new tasks and run the batch, use volley run ${shellQuote(file)}.`,
    { batch, ...details },
  );
}
