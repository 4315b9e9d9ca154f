import { startAction } from '../../batch/actions/start.ts';
import { findBatch } from '../../batch/context.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { programName, scopeFlags } from '../output/wording.ts';
import { defineCommand } from '../program/command.ts';
import { BATCH_OPTION } from '../program/options.ts';
import { chosenBatch, printAnswer } from '../session/ask.ts';
import { startDetached } from '../session/detach.ts';
import { type Session, withSession } from '../session/session.ts';
import { checkStart, type StartOptions, startBatch, startOptions } from '../session/start-batch.ts';

interface StartCommandOptions extends StartOptions {
  readonly batch?: string;
  readonly detach?: boolean;
}

export const startCommand = defineCommand<StartCommandOptions>({
  examples: startAction.cli.examples,
  declare: (program) =>
    startOptions(program.option(...BATCH_OPTION)).option(
      '--detach',
      'run in the background, in a process that exits when the batch ends',
    ),
  run: (_, { batch: named, detach = false, ...options }, io) =>
    withSession(options, io, async (session) => {
      const batch = await chosenBatch(session.store, named);
      if (options.dryRun)
        return (await import('../session/dry-run.ts')).dryRun(session, batch, [], options, io);
      return detach ? startApart(session, batch, options, io) : startBatch(session, batch, options, io);
    }),
});

/** Hands the batch to a process of its own. */
async function startApart(
  { store }: Session,
  batch: string,
  options: StartOptions,
  io: Io,
): Promise<ExitStatus> {
  await findBatch({ store }, batch);
  checkStart(batch, options, io);
  const words = process.argv.slice(2).filter((word) => word !== '--detach');
  const { pid, answer } = await startDetached(store, batch, [...words, '--batch', batch, '--json'], io);
  if (answer?.ok === false) return printAnswer(answer, options, io);
  const place = scopeFlags({ batch, config: options.config });
  const text =
    answer === undefined
      ? `The batch "${batch}" runs in process ${pid}. Follow it with: ${programName(io)} watch${place}`
      : `The batch "${batch}" ran in process ${pid} and has ended. ${programName(io)} results${place} shows its results.`;
  if (options.json) io.stdout.writeJson({ ok: true, pid, batch });
  else io.stdout.write(`${text}\n`);
  return EXIT.ok;
}
