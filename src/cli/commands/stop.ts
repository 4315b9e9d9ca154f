import { type CommonOptions, defineCommand } from '../program/command.ts';
import { BATCH_OPTION } from '../program/options.ts';
import { askOfBatch } from '../session/ask.ts';

interface StopOptions extends CommonOptions {
  readonly batch?: string;
  readonly now?: boolean;
}

export const stopCommand = defineCommand<StopOptions>({
  examples: ['volley stop', 'volley stop --batch audit --now'],
  declare: (program) =>
    program.option(...BATCH_OPTION).option('--now', 'end what runs at once; what does no harm runs again'),
  run: (_, { batch, now = false, ...options }, io) =>
    askOfBatch({ action: 'stop', batch, graceful: !now }, options, io),
});
