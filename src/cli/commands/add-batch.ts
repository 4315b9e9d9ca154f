import { ask, given } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { readTaskFile } from '../input/read-task-file.ts';
import { BATCH_OPTION } from '../options.ts';

interface AddBatchOptions extends CommonOptions {
  readonly batch?: string;
}

export const addBatchCommand = defineCommand<AddBatchOptions>({
  name: 'add-batch',
  summary: 'add the tasks of a file to a batch, without running it',
  examples: ['volley add-batch audit.json', 'generate-tasks | volley add-batch - --batch audit'],
  declare: (program) =>
    program
      .argument('<file>', 'JSON, JSON Lines, YAML or TOML; - for standard input')
      .option(...BATCH_OPTION),
  run: async ([file], { batch, ...options }, io) => {
    const { tasks, settings } = await readTaskFile(file!, io.stdin);
    return ask(given({ action: 'add_batch', tasks, batch: batch ?? settings['batch'] }), options, io);
  },
});
