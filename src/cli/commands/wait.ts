import { waitAction } from '../../batch/actions/wait.ts';
import { EXIT } from '../output/io.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { fieldOptions, fieldsOf } from '../session/action-command.ts';
import { chosenBatch, printAnswer } from '../session/ask.ts';
import { withSession } from '../session/session.ts';

export const waitCommand = defineCommand<CommonOptions & { readonly batch?: string }>({
  examples: waitAction.cli.examples,
  declare: (program) => fieldOptions(program, waitAction),
  run: (_, options, io) =>
    withSession(options, io, async ({ executor, store }) => {
      const batch = await chosenBatch(store, options.batch);
      // The end is read from the store, no matter which process runs the batch: no server keeps a request open.
      const answer = await executor.handle({
        action: 'wait',
        ...fieldsOf(waitAction, { ...options }),
        batch,
      });
      const status = printAnswer(answer, options, io);
      return answer.ok && answer.data['succeeded'] !== true ? EXIT.failed : status;
    }),
});
