import { type CommonOptions, defineCommand } from '../program/command.ts';
import { askAndPrint } from '../session/ask.ts';

export const listCommand = defineCommand<CommonOptions>({
  examples: ['volley list', 'volley list --json'],
  declare: () => undefined,
  run: (_, options, io) => askAndPrint({ action: 'list' }, options, io),
});
