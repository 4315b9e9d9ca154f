import { VolleyError } from '../../core/errors.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { listOption, NAMED_BATCH_OPTION } from '../program/options.ts';
import { askOfNamedBatch } from '../session/ask.ts';

interface CancelOptions extends CommonOptions {
  readonly batch?: string;
  readonly ids?: readonly string[];
  readonly all?: boolean;
}

export const cancelCommand = defineCommand<CancelOptions>({
  examples: ['volley cancel analyze-3 analyze-4 --batch audit', 'volley cancel --batch audit --all'],
  declare: (program) =>
    program
      .argument('[ids...]', 'the tasks')
      .option('--ids <ids>', 'the same, with commas', listOption)
      .option('--all', 'everything that has not ended')
      .option(...NAMED_BATCH_OPTION),
  run: async (args, { batch, ids = [], all, ...options }, io) => {
    const named = [...args, ...ids];
    if ((named.length === 0) === (all === undefined))
      throw new VolleyError('INVALID_VALUE', 'Say which tasks: either their ids, or --all.');
    return askOfNamedBatch(
      { action: 'cancel', batch, ids: named.length === 0 ? undefined : named, all },
      options,
      io,
    );
  },
});
