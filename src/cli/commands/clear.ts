import { type CommonOptions, defineCommand } from '../program/command.ts';
import { listOption, NAMED_BATCH_OPTION } from '../program/options.ts';
import { askOfNamedBatch } from '../session/ask.ts';

interface ClearOptions extends CommonOptions {
  readonly batch?: string;
  readonly filterStatus?: readonly string[];
}

export const clearCommand = defineCommand<ClearOptions>({
  examples: ['volley clear', 'volley clear --batch audit --filter-status completed'],
  declare: (program) =>
    program
      .option(...NAMED_BATCH_OPTION)
      .option('--filter-status <statuses>', 'only these, with commas', listOption),
  run: (_, { batch, filterStatus, ...options }, io) =>
    askOfNamedBatch({ action: 'clear', batch, filter_status: filterStatus }, options, io),
});
