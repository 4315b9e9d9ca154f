import { ask } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';

export const listCommand = defineCommand<CommonOptions>({
  name: 'list',
  summary: 'all batches of this folder',
  examples: ['volley list', 'volley list --json'],
  declare: () => undefined,
  run: (_, options, io) => ask({ action: 'list' }, options, io),
});
