import type { BatchAnswer } from '../../batch/answer.ts';
import { withoutUndefined } from '../../core/values.ts';
import type { Store } from '../../store/store.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { writeError } from '../output/messages.ts';
import { rewriteAnswer } from '../output/wording.ts';
import type { CommonOptions } from '../program/command.ts';
import { withOwnStore, withSession } from './session.ts';

/** How an answer is printed. */
export interface AnswerOptions extends CommonOptions {
  /** Its text is JSON, or bytes to print unchanged. Default: text for people. */
  readonly textIs?: 'json' | 'raw' | undefined;
}

/** Sends a request to the batch executor and prints the answer. */
export function askAndPrint(request: object, options: CommonOptions, io: Io): Promise<ExitStatus> {
  return withSession(options, io, async ({ handle }) => printAnswer(await handle(request), options, io));
}

/** The same for a request that adds something, which creates a missing store. */
export function askToAdd(request: object, options: CommonOptions, io: Io): Promise<ExitStatus> {
  return withOwnStore(options, io, async ({ handle }) => printAnswer(await handle(request), options, io));
}

type BatchRequest = Readonly<Record<string, unknown>> & { readonly batch?: string | undefined };

/** The same about a batch. Without a name, the only batch is meant. */
export function askOfBatch(request: BatchRequest, options: AnswerOptions, io: Io): Promise<ExitStatus> {
  return withSession(options, io, async ({ handle, store }) => {
    const batch = await chosenBatch(store, request.batch);
    return printAnswer(await handle(withoutUndefined({ ...request, batch })), options, io);
  });
}

/** The named batch, `default`, or the only one. */
export async function chosenBatch(
  store: Pick<Store, 'batch' | 'batches'>,
  named: string | undefined,
): Promise<string> {
  if (named !== undefined || (await store.batch('default')) !== undefined) return named ?? 'default';
  const [only, ...others] = await store.batches();
  return only !== undefined && others.length === 0 ? only.name : 'default';
}

export function printAnswer(
  answer: BatchAnswer,
  { json = false, config, textIs }: AnswerOptions,
  io: Io,
): ExitStatus {
  if (json) io.stdout.writeJson(answer);
  else if (!answer.ok) writeError(answer.error?.message ?? answer.text, answer.data, config, io);
  else if (textIs === 'json') io.stdout.writeJsonText(answer.text);
  else if (textIs === 'raw') io.stdout.raw.write(`${answer.text}\n`);
  else {
    const columns = io.stdout.isTTY ? io.stdout.columns : undefined;
    io.stdout.write(`${rewriteAnswer(answer.text, { batch: answer.data['batch'], config }, io, columns)}\n`);
  }
  return answer.ok ? EXIT.ok : EXIT.usage;
}
