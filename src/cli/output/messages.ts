import type { Command, CommanderError } from 'commander';
import type { VolleyConfig } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine, printableText } from '../../core/printable-text.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { createColors, wantsColors } from './colors.ts';
import { EXIT, type ExitStatus, type Io } from './io.ts';
import { fieldsToOptions, rewriteCommands } from './wording.ts';
import { wrapMessage } from './wrap.ts';

type Streams = Pick<Io, 'stdout' | 'stderr' | 'env'>;

interface ReportOptions {
  readonly json?: boolean | undefined;
  readonly config?: string | undefined;
}

/** Reports an error as JSON or for people. Only a defect of our own comes with its stack. */
export function reportError(
  error: unknown,
  { json = false, config }: ReportOptions,
  io: Streams,
): ExitStatus {
  const { code, message } = describe(error);
  const { problems } = error instanceof VolleyError ? (error.details as { problems?: unknown }) : {};
  if (json) io.stdout.writeJson({ ok: false, error: { code, message, problems } });
  else writeError(message, { problems }, config, io);
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

/** Writes an error for people, in the words of the command line. */
export function writeError(
  message: string,
  details: Readonly<Record<string, unknown>>,
  config: string | undefined,
  io: Pick<Io, 'stderr' | 'env'>,
): void {
  writeMessage('error', rewriteCommands(fieldsToOptions(onePerLine(message, details)), { config }, io), io);
}

export function writeNote(text: string, io: Pick<Io, 'stderr' | 'env'>): void {
  writeMessage('note', text, io);
}

function writeMessage(
  kind: 'error' | 'note',
  text: string,
  { stderr, env }: Pick<Io, 'stderr' | 'env'>,
): void {
  const { red, yellow } = createColors(wantsColors(stderr, env));
  const message = `${kind === 'error' ? red('error:') : yellow('note:')} ${printableText(text)}`;
  const columns = (stderr.isTTY && stderr.columns) || Number.POSITIVE_INFINITY;
  stderr.writeStyled(`${wrapMessage(message, columns)}\n`);
}

/** Puts each of several problems on a line of its own. */
function onePerLine(message: string, details: Readonly<Record<string, unknown>>): string {
  const problems = details['problems'] as readonly string[] | undefined;
  const start = problems?.[0] === undefined ? -1 : message.indexOf(problems[0]);
  if (problems === undefined || problems.length < 2 || start < 0) return message;
  return [message.slice(0, start).trim(), ...problems.map((problem) => `  ${problem}`)].join('\n');
}

/** Notes which settings are off until the folder is trusted. In JSON, answers carry that themselves. */
export async function noteTrust(
  { trust }: Pick<VolleyConfig, 'trust'>,
  { json, config }: ReportOptions,
  io: Pick<Io, 'stderr' | 'env'>,
): Promise<void> {
  if (json === true || trust.waiting.length === 0) return;
  const { trustText } = await import('../../config/trust.ts');
  writeNote(printableLine(rewriteCommands(trustText(trust), { config }, io)), io);
}

const UNEXPANDED = /^(?:--?[\w-]+=)?(~(?:\/.*)?)$/s;

/** Notes a `~` that the shell passed on: it expands one only at the start of an unquoted word. */
export function noteUnexpandedHome(argv: readonly string[], io: Pick<Io, 'stderr' | 'env'>): void {
  const word = argv.map((given) => UNEXPANDED.exec(given)?.[1]).find((path) => path !== undefined);
  if (word === undefined) return;
  const meant = `"$HOME${printableLine(word.slice(1))}"`;
  writeNote(
    `The shell did not expand the ~ in ${printableLine(word)}, because it is quoted or follows "=". Did you mean ${meant}?`,
    io,
  );
}

/** Notes which option takes a name that was typed as an extra argument. */
export function noteExtraArgument(
  { code }: CommanderError,
  command: Command | undefined,
  io: Pick<Io, 'stderr' | 'env'>,
): void {
  if (code !== 'commander.excessArguments' || command === undefined) return;
  const given = command.args[command.registeredArguments.length];
  const has = (option: string) => command.options.some(({ long }) => long === option);
  if (given === undefined || !has('--batch')) return;
  const word = printableLine(shellQuote(given));
  writeNote(`Name a batch with --batch ${word}${has('--id') ? `, or a task with --id ${word}` : ''}.`, io);
}

/** What the command line asks for cannot be done. */
export function usageError(message: string): VolleyError {
  return new VolleyError('INVALID_VALUE', message);
}
