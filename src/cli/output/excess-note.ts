import type { Command, CommanderError } from 'commander';
import { printableLine } from '../../core/printable-text.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { Io } from '../io.ts';
import { createColours, wantsColours } from './colours.ts';

/** After a word too many: who types the name of a batch or a task bare is told by which option it is given. */
export function noteExcess(
  { code }: CommanderError,
  command: Command | undefined,
  { stderr, env }: Pick<Io, 'stderr' | 'env'>,
): void {
  if (code !== 'commander.excessArguments' || command === undefined) return;
  const given = command.args[command.registeredArguments.length];
  const has = (option: string) => command.options.some(({ long }) => long === option);
  if (given === undefined || !has('--batch')) return;
  const word = printableLine(shellQuote(given));
  const task = has('--id') ? `, a task with --id ${word}` : '';
  const { yellow } = createColours(wantsColours(stderr, env));
  stderr.writeStyled(`${yellow('note')} A batch is named with --batch ${word}${task}.\n`);
}
