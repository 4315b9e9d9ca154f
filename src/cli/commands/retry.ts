import { type CommonOptions, defineCommand } from '../program/command.ts';
import { BATCH_OPTION, listOption } from '../program/options.ts';
import { askOfBatch } from '../session/ask.ts';

interface RetryOptions extends CommonOptions {
  readonly batch?: string;
  readonly ids?: readonly string[];
}

export const retryCommand = defineCommand<RetryOptions>({
  examples: ['volley retry && volley start', 'volley retry --ids analyze-3'],
  declare: (program) =>
    program.option(...BATCH_OPTION).option('--ids <ids>', 'only these tasks, with commas', listOption),
  run: (_, { batch, ids, ...options }, io) => askOfBatch({ action: 'retry', batch, ids }, options, io),
});
