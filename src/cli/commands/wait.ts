import { EXIT } from '../output/io.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { BATCH_OPTION, numberOption } from '../program/options.ts';
import { chosenBatch, given, printAnswer } from '../session/ask.ts';
import { withSession } from '../session/session.ts';

interface WaitOptions extends CommonOptions {
  readonly batch?: string;
  readonly timeout?: number;
}

export const waitCommand = defineCommand<WaitOptions>({
  examples: ['volley wait', 'volley wait --batch audit --timeout 60'],
  declare: (program) =>
    program.option(...BATCH_OPTION).option('--timeout <seconds>', 'at most so long', numberOption),
  run: (_, { batch: named, timeout, ...options }, io) =>
    withSession(options, io, async ({ executor, store }) => {
      const batch = await chosenBatch(store, named);
      // Whoever runs it, its end is seen in the store: no server has to keep a request open for that.
      const answer = await executor.handle(given({ action: 'wait', batch, timeout }));
      const status = printAnswer(answer, options, io);
      return answer.ok && answer.data['succeeded'] !== true ? EXIT.failed : status;
    }),
});
