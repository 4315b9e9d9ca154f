import { askOfBatch } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { BATCH_OPTION, listOption } from '../options.ts';

interface CancelOptions extends CommonOptions {
  readonly batch?: string;
  readonly ids?: readonly string[];
}

export const cancelCommand = defineCommand<CancelOptions>({
  name: 'cancel',
  summary: 'end tasks of a batch',
  examples: ['volley cancel', 'volley cancel --ids analyze-3,analyze-4'],
  declare: (program) =>
    program.option(...BATCH_OPTION).option('--ids <ids>', 'only these tasks, with commas', listOption),
  run: (_, { batch, ids, ...options }, io) => askOfBatch({ action: 'cancel', batch, ids }, options, io),
});
