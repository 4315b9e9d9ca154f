import { startAction } from '../batch/actions/start.ts';
import { checkInput } from '../batch/input/check.ts';
import { VolleyError } from '../core/errors.ts';
import { given, printAnswer } from './ask.ts';
import type { CommonOptions } from './command.ts';
import { runInForeground } from './foreground.ts';
import { EXIT, type ExitStatus, type Io } from './io.ts';
import { checkFolders, drawPictures, type PictureOptions, picturesOf } from './pictures.ts';
import { reportError } from './report.ts';
import type { Session } from './session.ts';
import { summarise } from './summarise.ts';

/** What `run` and `start` have in common. */
export interface StartOptions extends CommonOptions, PictureOptions {
  readonly maxConcurrent?: number | 'auto';
  readonly timeout?: number;
  readonly failFast?: boolean;
  readonly verbose?: boolean;
  readonly dryRun?: boolean;
}

/** Throws if a start with these options would be refused, or its pictures could not be written. */
export function checkStart(batch: string, options: StartOptions, io: Io): void {
  checkInput(startAction.schema, 'start', { batch, ...termsOf(options) });
  checkFolders(picturesOf(options), io);
}

/** Throws if what a file says of a run would be refused, in words of the file; `batch` if that comes from it. */
export function checkSettings(file: string, batch: string | undefined, settings: StartOptions): void {
  try {
    checkInput(startAction.schema, 'start', { ...given({ batch }), ...termsOf(settings) });
  } catch (error) {
    if (!(error instanceof VolleyError)) throw error;
    const { code, message, details } = error;
    throw new VolleyError(code, message.replace(/^The request "start" cannot be done/, file), details);
  }
}

/** Runs the open tasks of a batch before the user's eyes, and says how it ended. */
export async function startBatch(
  session: Session,
  batch: string,
  options: StartOptions,
  io: Io,
): Promise<ExitStatus> {
  const { verbose = false, json = false } = options;
  checkStart(batch, options, io);
  const pictures = picturesOf(options);
  const { open = 0, running = 0 } = (await session.store.batch(batch))?.counts ?? {};
  const since = Date.now();
  const beganAt = performance.now();
  const start = termsOf(options);
  const { answer, wasInterrupted } = await runInForeground(
    session,
    { batch, start, verbose, quiet: json },
    io,
  );
  if (!answer.ok) return printAnswer(answer, options, io);
  if (answer.data['problem'] !== undefined) {
    // The store may be gone or unreadable: only what is known for certain is told.
    if (json) printAnswer(answer, options, io);
    else reportError(new Error(answer.text), options, io);
    return EXIT.failed;
  }
  if (json) printAnswer(answer, options, io);
  else {
    const facts = { hadWork: open + running > 0, since, elapsedMs: performance.now() - beganAt };
    io.stdout.writeStyled(await summarise(session, batch, facts, options, io));
  }
  const areWritten = await drawPictures(pictures, session.store, batch, io);
  if (wasInterrupted) return EXIT.interrupted;
  return answer.data['succeeded'] === true && areWritten ? EXIT.ok : EXIT.failed;
}

function termsOf({ maxConcurrent, timeout, failFast }: StartOptions): Record<string, unknown> {
  return given({ max_concurrent: maxConcurrent, timeout, fail_fast: failFast });
}
