import { resultsAction } from '../../batch/actions/results.ts';
import { actionCommand } from '../session/action-command.ts';

export const resultsCommand = actionCommand(resultsAction, {
  declare: (program) => program.option('--raw', 'print text unchanged, including control characters'),
  print: ({ raw, format, id }) =>
    raw === true ? 'raw' : format === 'json' && id === undefined ? 'json' : undefined,
});
