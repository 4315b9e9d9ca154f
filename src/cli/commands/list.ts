import { type CommonOptions, defineCommand } from '../program/command.ts';
import { ask } from '../session/ask.ts';

export const listCommand = defineCommand<CommonOptions>({
  examples: ['volley list', 'volley list --json'],
  declare: () => undefined,
  run: (_, options, io) => ask({ action: 'list' }, options, io),
});
