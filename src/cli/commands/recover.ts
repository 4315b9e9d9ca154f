import { countText } from '../../core/words.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { EXIT } from '../io.ts';
import { ownName } from '../output/own-name.ts';
import { withSession } from '../session.ts';

export const recoverCommand = defineCommand<CommonOptions>({
  examples: ['volley recover && volley start'],
  declare: () => undefined,
  run: (_, { json, ...options }, io) =>
    withSession(options, io, async ({ executor }) => {
      const { reopened, crashed } = await executor.recover();
      const text =
        reopened.length + crashed.length === 0
          ? 'There is nothing to recover.'
          : `${countText(reopened.length, 'task')} will run again. ${countText(crashed.length, 'task')} may have done part of the work and failed with the reason "crashed": look at them, then ${ownName(io)} retry.`;
      io.stdout.write(json ? `${JSON.stringify({ ok: true, reopened, crashed })}\n` : `${text}\n`);
      return EXIT.ok;
    }),
});
