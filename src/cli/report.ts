import { VolleyError } from '../core/errors.ts';
import { printableText } from '../core/printable-text.ts';
import type { CommonOptions } from './command.ts';
import { faultText } from './fault-text.ts';
import { EXIT, type ExitStatus, type Io } from './io.ts';
import { createColours, wantsColours } from './output/colours.ts';
import { optionWords } from './output/option-words.ts';
import { ownCommands } from './output/own-name.ts';

/** Tells the user what is wrong: what to do where Volley knows it, the place in the code only for our own defects. */
export function reportError(
  error: unknown,
  { json = false, config }: CommonOptions,
  io: Pick<Io, 'stdout' | 'stderr' | 'env'>,
): ExitStatus {
  const { code, message } = describe(error);
  const { problems } = error instanceof VolleyError ? (error.details as { problems?: unknown }) : {};
  if (json) io.stdout.writeJson({ ok: false, error: { code, message, problems } });
  else {
    const { red } = createColours(wantsColours(io.stderr, io.env));
    const text = optionWords(faultText(message, { problems }));
    io.stderr.writeStyled(`${red('error')} ${printableText(ownCommands(text, { config }, io))}\n`);
  }
  return EXIT.usage;
}

function describe(error: unknown): { code: string; message: string } {
  if (error instanceof VolleyError) {
    const isDefect = error.code === 'INTERNAL';
    return { code: error.code, message: isDefect ? (error.stack ?? error.message) : error.message };
  }
  if (error instanceof Error) {
    const { code } = error as { code?: unknown };
    return { code: typeof code === 'string' ? code : 'ERROR', message: error.message };
  }
  return { code: 'ERROR', message: String(error) };
}
