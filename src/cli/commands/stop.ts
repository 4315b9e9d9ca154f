import { askOfBatch } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { BATCH_OPTION } from '../options.ts';

interface StopOptions extends CommonOptions {
  readonly batch?: string;
}

export const stopCommand = defineCommand<StopOptions>({
  name: 'stop',
  summary: 'let a running batch finish what runs, and start no more',
  examples: ['volley stop', 'volley stop --batch audit'],
  declare: (program) => program.option(...BATCH_OPTION),
  run: (_, { batch, ...options }, io) => askOfBatch({ action: 'stop', batch }, options, io),
});
