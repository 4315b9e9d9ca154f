import { countText, listText } from '../../core/words.ts';
import type { Recovery } from '../../store/store.ts';
import { EXIT, type Io } from '../output/io.ts';
import { programName, scopeFlags } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { withSession } from '../session/session.ts';

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
      [...batches].map((batch) => `${programName(io)} ${command}${scopeFlags({ batch, config })}`),
    );
  };
  const sentences: string[] = [];
  if (reopened.length > 0)
    sentences.push(
      `${countText(reopened.length, 'task')} reopened. To run ${reopened.length === 1 ? 'it' : 'them'}: ${commands('start', reopened)}`,
    );
  if (crashed.length > 0)
    sentences.push(
      `${countText(crashed.length, 'task')} failed with the reason "crashed", because part of the work may be done. Check ${crashed.length === 1 ? 'it' : 'them'}, then run: ${commands('retry', crashed)}`,
    );
  return sentences.join('\n') || 'Nothing to recover.';
}
