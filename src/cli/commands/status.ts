import { askOfBatch } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { BATCH_OPTION } from '../options.ts';

interface StatusOptions extends CommonOptions {
  readonly batch?: string;
  readonly detailed?: boolean;
}

export const statusCommand = defineCommand<StatusOptions>({
  examples: ['volley status', 'volley status --batch audit --detailed'],
  declare: (program) => program.option(...BATCH_OPTION).option('--detailed', 'also what waits and why'),
  run: (_, { batch, detailed, ...options }, io) =>
    askOfBatch({ action: 'status', batch, detailed }, options, io),
});
