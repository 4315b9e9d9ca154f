import { countText, listText } from '../../core/words.ts';
import type { Recovery } from '../../store/store.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { EXIT, type Io } from '../io.ts';
import { ownName, placeOptions } from '../output/own-name.ts';
import { withSession } from '../session.ts';

export const recoverCommand = defineCommand<CommonOptions>({
  examples: ['volley recover && volley start'],
  declare: () => undefined,
  run: (_, { json, ...options }, io) =>
    withSession(options, io, async ({ executor }) => {
      const recovery = await executor.recover();
      if (json) io.stdout.writeJson({ ok: true, ...recovery });
      else io.stdout.write(`${recoveryText(recovery, options, io)}\n`);
      return EXIT.ok;
    }),
});

function recoveryText({ reopened, crashed }: Recovery, { config }: CommonOptions, io: Io): string {
  const commands = (command: string, tasks: Recovery['crashed']) => {
    const batches = new Set(tasks.map(({ batch }) => batch));
    return listText(
      [...batches].map((batch) => `${ownName(io)} ${command}${placeOptions({ batch, config })}`),
    );
  };
  const said: string[] = [];
  if (reopened.length > 0)
    said.push(`${countText(reopened.length, 'task')} will run again, with ${commands('start', reopened)}.`);
  if (crashed.length > 0)
    said.push(
      `${countText(crashed.length, 'task')} may have done part of the work and failed with the reason "crashed": look at ${crashed.length === 1 ? 'it' : 'them'}, then ${commands('retry', crashed)}.`,
    );
  return said.join('\n') || 'There is nothing to recover.';
}
