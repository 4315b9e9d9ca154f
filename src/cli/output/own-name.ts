import { shellQuote } from '../../core/shell-quote.ts';
import { COMMANDS } from '../commands.ts';
import type { Io } from '../io.ts';

const NAMES = COMMANDS.map(({ name }) => name).join('|');
/** A command in the midst of a sentence; what a shell is to run by itself finds the program on its path. */
const COMMAND = new RegExp(`(?<![\\w/-]|npx |<\\()volley ((?:tasks [a-z]+|${NAMES})(?![\\w-]))`, 'g');

/** How whoever reads this calls the program: one that npm has started need not be on the path of a shell. */
export function ownName({ env }: Pick<Io, 'env'>): string {
  const isOfNpm = env['npm_command'] === 'exec' || env['npm_lifecycle_event'] !== undefined;
  return isOfNpm ? 'npx volley' : 'volley';
}

/** What another command must be told besides, so that it is about the same batch of the same store. */
export interface CommandPlace {
  readonly batch?: unknown;
  /** The `volley.toml` that this command was given. */
  readonly config?: string | undefined;
}

/** ` --batch NAME --config FILE`, as far as they differ from what is meant anyway. */
export function placeOptions({ batch, config }: CommandPlace): string {
  const isNamed = typeof batch === 'string' && batch !== 'default';
  const words = [
    ...(isNamed ? ['--batch', shellQuote(batch)] : []),
    ...(config === undefined ? [] : ['--config', shellQuote(config)]),
  ];
  return words.map((word) => ` ${word}`).join('');
}

/** A text of ours that names commands, such as an error or help, with each as whoever reads it would type it. */
export function ownCommands(text: string, { config }: CommandPlace, io: Pick<Io, 'env'>): string {
  const place = placeOptions({ config });
  return text.replace(COMMAND, (_, command: string) => `${ownName(io)} ${command}${place}`);
}
