import { ask } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';

export const listCommand = defineCommand<CommonOptions>({
  examples: ['volley list', 'volley list --json'],
  declare: () => undefined,
  run: (_, options, io) => ask({ action: 'list' }, options, io),
});
