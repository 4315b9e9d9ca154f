import { askOfBatch } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { BATCH_OPTION, listOption } from '../options.ts';

interface ClearOptions extends CommonOptions {
  readonly batch?: string;
  readonly filterStatus?: readonly string[];
}

export const clearCommand = defineCommand<ClearOptions>({
  examples: ['volley clear', 'volley clear --batch audit --filter-status completed'],
  declare: (program) =>
    program
      .option(...BATCH_OPTION)
      .option('--filter-status <statuses>', 'only these, with commas', listOption),
  run: (_, { batch, filterStatus, ...options }, io) =>
    askOfBatch({ action: 'clear', batch, filter_status: filterStatus }, options, io),
});
