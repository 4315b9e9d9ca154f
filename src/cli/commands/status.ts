import { routeRequests } from '../../server/request-routing.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { BATCH_OPTION } from '../program/options.ts';
import { chosenBatch, printAnswer } from '../session/ask.ts';
import { withStore } from '../session/session.ts';

interface StatusOptions extends CommonOptions {
  readonly batch?: string;
  readonly detailed?: boolean;
}

export const statusCommand = defineCommand<StatusOptions>({
  examples: ['volley status', 'volley status --batch audit --detailed'],
  declare: (program) =>
    program.option(...BATCH_OPTION).option('--detailed', 'also show which tasks wait, and why'),
  run: (_, { batch: named, detailed = false, ...options }, io) =>
    withStore(options, io, async ({ executor, store, storeFile }) => {
      const batch = await chosenBatch(store, named);
      if (named === undefined && (await store.batches()).length === 0)
        return printAnswer(await executor.handle({ action: 'list' }), options, io);
      const ask = routeRequests(storeFile, store, { handle: () => executor.status(batch, detailed) });
      return printAnswer(await ask({ action: 'status', batch, detailed }), options, io);
    }),
});
