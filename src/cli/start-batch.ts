import { printAnswer } from './ask.ts';
import type { CommonOptions } from './command.ts';
import { runInForeground } from './foreground.ts';
import { EXIT, type ExitStatus, type Io } from './io.ts';
import { drawPictures, type PictureOptions, picturesOf } from './pictures.ts';
import type { Session } from './session.ts';
import { summarise } from './summarise.ts';

/** What `run` and `start` have in common. */
export interface StartOptions extends CommonOptions, PictureOptions {
  readonly maxConcurrent?: number | 'auto';
  readonly timeout?: number;
  readonly failFast?: boolean;
  readonly verbose?: boolean;
}

/** Runs the open tasks of a batch before the user's eyes, and says how it ended. */
export async function startBatch(
  session: Session,
  batch: string,
  options: StartOptions,
  io: Io,
): Promise<ExitStatus> {
  const { maxConcurrent, timeout, failFast, verbose = false, json = false } = options;
  const pictures = picturesOf(options);
  const since = Date.now();
  const start = {
    ...(maxConcurrent !== undefined && { max_concurrent: maxConcurrent }),
    ...(timeout !== undefined && { timeout }),
    ...(failFast !== undefined && { fail_fast: failFast }),
  };
  const { answer, wasInterrupted } = await runInForeground(
    session,
    { batch, start, verbose, quiet: json },
    io,
  );
  if (!answer.ok) return printAnswer(answer, { json }, io);
  if (json) printAnswer(answer, { json }, io);
  else io.stdout.write(await summarise(session, batch, since, Date.now() - since, io));
  await drawPictures(pictures, session.store, batch, io);
  if (wasInterrupted) return EXIT.interrupted;
  return answer.data['succeeded'] === true ? EXIT.ok : EXIT.failed;
}
