import { askOfBatch } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { BATCH_OPTION, numberOption } from '../options.ts';

interface WaitOptions extends CommonOptions {
  readonly batch?: string;
  readonly timeout?: number;
}

export const waitCommand = defineCommand<WaitOptions>({
  name: 'wait',
  summary: 'wait for the end of a batch that another process runs',
  examples: ['volley wait', 'volley wait --batch audit --timeout 60'],
  declare: (program) =>
    program.option(...BATCH_OPTION).option('--timeout <seconds>', 'at most so long', numberOption),
  run: (_, { batch, timeout, ...options }, io) => askOfBatch({ action: 'wait', batch, timeout }, options, io),
});
