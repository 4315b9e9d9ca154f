import { listText } from '../../core/words.ts';
import { given, printAnswer } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { placedAnswer } from '../input/placed-answer.ts';
import { readTaskFile } from '../input/read-task-file.ts';
import { EXIT } from '../io.ts';
import { NAMED_BATCH_OPTION } from '../options.ts';
import { createColours, wantsColours } from '../output/colours.ts';
import { ownName } from '../output/own-name.ts';
import { withSession } from '../session.ts';

interface AddBatchOptions extends CommonOptions {
  readonly batch?: string;
}

export const addBatchCommand = defineCommand<AddBatchOptions>({
  examples: ['volley add-batch audit.json', 'generate-tasks | volley add-batch - --batch audit'],
  declare: (program) =>
    program
      .argument('<file>', 'JSON, JSON Lines, YAML or TOML; - for standard input')
      .option(...NAMED_BATCH_OPTION),
  run: async ([file], { batch, ...options }, io) => {
    const read = await readTaskFile(file!, io.stdin, io.cwd);
    const { tasks, settings } = read;
    const { batch: own, ...ofRun } = settings;
    const status = await withSession(options, io, async ({ handle }) => {
      const answer = await handle(given({ action: 'add_batch', tasks, batch: batch ?? own }));
      return printAnswer(await placedAnswer(answer, tasks, { tasks, file: read }), options, io);
    });
    const unused = Object.keys(ofRun);
    if (status === EXIT.ok && unused.length > 0) {
      const { yellow } = createColours(wantsColours(io.stderr, io.env));
      io.stderr.write(
        `${yellow('note')} What the file says of a run is for ${ownName(io)} run; tell ${ownName(io)} start: ${listText(unused)}.\n`,
      );
    }
    return status;
  },
});
