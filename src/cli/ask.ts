import type { BatchAnswer } from '../batch/answer.ts';
import { unknownBatch } from '../batch/context.ts';
import { VolleyError } from '../core/errors.ts';
import { printableText } from '../core/printable-text.ts';
import type { Store } from '../store/store.ts';
import type { CommonOptions } from './command.ts';
import { faultText } from './fault-text.ts';
import { EXIT, type ExitStatus, type Io } from './io.ts';
import { createColours, wantsColours } from './output/colours.ts';
import { commandWords } from './output/command-words.ts';
import { optionWords } from './output/option-words.ts';
import { ownCommands } from './output/own-name.ts';
import { withOwnStore, withSession } from './session.ts';

/** How an answer is printed. */
export interface AnswerOptions extends CommonOptions {
  /** What its text is: JSON, or bytes that are wanted as they are. Otherwise it is text for people. */
  readonly textIs?: 'json' | 'raw' | undefined;
}

/** Sends a request to the batch executor, of a running server if there is one, and prints its answer. */
export function ask(request: object, options: CommonOptions, io: Io): Promise<ExitStatus> {
  return withSession(options, io, async ({ handle }) => printAnswer(await handle(request), options, io));
}

/** The same for what adds something, for which a store is made if there is none. */
export function askToAdd(request: object, options: CommonOptions, io: Io): Promise<ExitStatus> {
  return withOwnStore(options, io, async ({ handle }) => printAnswer(await handle(request), options, io));
}

type BatchRequest = Readonly<Record<string, unknown>> & { readonly batch?: string | undefined };

/** The same of a batch; where none is named and there is only one, that is meant. */
export function askOfBatch(request: BatchRequest, options: AnswerOptions, io: Io): Promise<ExitStatus> {
  return askOf(chosenBatch, request, options, io);
}

/** The same for what cannot be taken back: a batch that nobody named is left alone, unless it is `default`. */
export function askOfNamedBatch(request: BatchRequest, options: CommonOptions, io: Io): Promise<ExitStatus> {
  return askOf(namedBatch, request, options, io);
}

function askOf(
  choose: typeof chosenBatch,
  request: BatchRequest,
  options: AnswerOptions,
  io: Io,
): Promise<ExitStatus> {
  return withSession(options, io, async ({ handle, store }) => {
    const batch = await choose(store, request.batch);
    return printAnswer(await handle(given({ ...request, batch })), options, io);
  });
}

/** The batch that is meant: the named one, `default`, or the only one there is. */
export async function chosenBatch(
  store: Pick<Store, 'batch' | 'batches'>,
  named: string | undefined,
): Promise<string> {
  if (named !== undefined || (await store.batch('default')) !== undefined) return named ?? 'default';
  const [only, ...others] = await store.batches();
  return only !== undefined && others.length === 0 ? only.name : 'default';
}

/** The named one or `default`; an error that names the others where there are only such. */
export async function namedBatch(
  store: Pick<Store, 'batch' | 'batches'>,
  named: string | undefined,
): Promise<string> {
  if (named !== undefined || (await store.batch('default')) !== undefined) return named ?? 'default';
  if ((await store.batches()).length === 0) return 'default';
  const { code, message, details } = await unknownBatch(store, 'default');
  throw new VolleyError(code, `${message} Name the one that is meant with --batch.`, details);
}

export function printAnswer(
  answer: BatchAnswer,
  { json = false, config, textIs }: AnswerOptions,
  io: Io,
): ExitStatus {
  if (json) io.stdout.writeJson(answer);
  else if (answer.ok && textIs === 'json') io.stdout.writeJsonText(answer.text);
  else if (answer.ok && textIs === 'raw') io.stdout.raw.write(`${answer.text}\n`);
  else if (answer.ok)
    io.stdout.write(`${commandWords(answer.text, { batch: answer.data['batch'], config }, io)}\n`);
  else {
    const { red } = createColours(wantsColours(io.stderr, io.env));
    const fault = faultText(answer.error?.message ?? answer.text, answer.data);
    io.stderr.writeStyled(
      `${red('error')} ${printableText(ownCommands(optionWords(fault), { config }, io))}\n`,
    );
  }
  return answer.ok ? EXIT.ok : EXIT.usage;
}

/** Only what was given: the executor fills in the rest. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
