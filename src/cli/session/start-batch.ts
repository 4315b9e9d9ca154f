import type { Command } from 'commander';
import { startAction } from '../../batch/actions/start.ts';
import type { BatchAnswer } from '../../batch/answer.ts';
import { CONCURRENCY_ADVICE } from '../../batch/executor/description.ts';
import { checkInput } from '../../batch/input/check.ts';
import { VolleyError } from '../../core/errors.ts';
import { withoutUndefined } from '../../core/values.ts';
import { summarizeRun } from '../display/summary.ts';
import { checkPictures, choosePictures, drawPictures, type PictureOptions } from '../drawing/pictures.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { reportError, writeNote } from '../output/messages.ts';
import type { CommonOptions } from '../program/command.ts';
import { addHelpNote } from '../program/help.ts';
import { fieldOptions } from './action-command.ts';
import { printAnswer } from './ask.ts';
import { runInForeground } from './foreground.ts';
import { type Session, viewBatch } from './session.ts';

/** The options that `run` and `start` share. */
export interface StartOptions extends CommonOptions, PictureOptions {
  readonly maxConcurrent?: number | 'auto';
  readonly timeout?: number;
  readonly failFast?: boolean;
  readonly budget?: string;
  /** False with `--no-cache`. */
  readonly cache?: boolean;
  readonly force?: boolean;
  readonly verbose?: boolean;
  readonly dryRun?: boolean;
}

export function startOptions(program: Command): Command {
  fieldOptions(program, startAction, ['max_concurrent', 'timeout', 'fail_fast', 'budget', 'cache', 'force'])
    .option('--dry-run', 'check everything and show the plan, but add and start nothing')
    .option('--verbose', 'also show each completed task')
    .option('--gantt <file>', 'draw a timeline as SVG')
    .option('--graph <file>', 'draw the dependency graph as .svg, .mmd or .dot')
    .option('--trace <file>', 'write a trace for chrome://tracing or Perfetto');
  return addHelpNote(program, CONCURRENCY_ADVICE);
}

/** Throws if a start with these options would be refused, or its pictures could not be written. */
export function checkStart(batch: string, options: StartOptions, io: Io): void {
  checkInput(startAction.schema, 'start', { batch, ...startFields(options) });
  checkPictures(choosePictures(options), io);
}

/** Throws if the settings of a task file would be refused. `batch`: only if the file names it. */
export function checkFileSettings(file: string, batch: string | undefined, settings: StartOptions): void {
  try {
    checkInput(startAction.schema, 'start', { ...withoutUndefined({ batch }), ...startFields(settings) });
  } catch (error) {
    if (!(error instanceof VolleyError)) throw error;
    const { code, message, details } = error;
    throw new VolleyError(code, message.replace(/^The request "start" is not valid/, file), details);
  }
}

/** Runs the open tasks of a batch in the foreground and prints how it ended. */
export async function startBatch(
  session: Session,
  batch: string,
  options: StartOptions,
  io: Io,
): Promise<ExitStatus> {
  const { verbose = false, json = false, config } = options;
  checkStart(batch, options, io);
  const pictures = choosePictures(options);
  const { open = 0, running = 0 } = (await session.store.batch(batch))?.counts ?? {};
  const since = Date.now();
  const beganAt = performance.now();
  const { answer, wasInterrupted } = await runInForeground(
    session,
    { batch, start: startFields(options), verbose, quiet: json },
    io,
  );
  if (!answer.ok) return printAnswer(answer, options, io);
  if (answer.data['problem'] !== undefined) {
    // The store may be gone or unreadable: a summary is not possible.
    if (json) printAnswer(answer, options, io);
    else reportError(new Error(answer.text), options, io);
    return EXIT.failed;
  }
  if (json) printAnswer(answer, options, io);
  else {
    const { counts, hasFailures, spending } = await viewBatch(session, batch);
    const elapsedMs = performance.now() - beganAt;
    const facts = { counts, hasFailures, spending, hadWork: open + running > 0, since, elapsedMs };
    io.stdout.writeStyled(await summarizeRun(session.store, batch, facts, config, io));
    printReturned(answer.data, io);
    const { stopped } = answer.data;
    if (typeof stopped === 'string') writeNote(stopped, io);
  }
  const areWritten = await drawPictures(pictures, session.store, batch, io);
  if (wasInterrupted) return EXIT.interrupted;
  return answer.data['succeeded'] === true && areWritten ? EXIT.ok : EXIT.failed;
}

/** Prints what the batch returned: a string as it is, other values as JSON. */
function printReturned(data: BatchAnswer['data'], { stdout }: Io): void {
  const { returned, returned_preview: preview } = data;
  if (preview !== undefined) stdout.write(`${preview}\n`);
  else if (typeof returned === 'string') stdout.write(`${returned}\n`);
  else if (returned !== undefined) stdout.write(`${JSON.stringify(returned, undefined, 2)}\n`);
}

function startFields(options: StartOptions): Record<string, unknown> {
  const { maxConcurrent, timeout, failFast, budget, force } = options;
  // Without `--no-cache` it is true, which is the default.
  const cache = options.cache === false ? false : undefined;
  return withoutUndefined({
    max_concurrent: maxConcurrent,
    timeout,
    fail_fast: failFast,
    budget,
    cache,
    force,
  });
}
