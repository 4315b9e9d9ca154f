import { printableLine } from '../../core/printable-text.ts';
import type { Io } from '../io.ts';
import { createColours, wantsColours } from './colours.ts';

const UNEXPANDED = /^(?:--?[\w-]+=)?(~(?:\/.*)?)$/s;

/** After a refusal: shells put the home folder in for a `~` only where it begins a word, and stands in no quotes. */
export function noteHome(argv: readonly string[], { stderr, env }: Pick<Io, 'stderr' | 'env'>): void {
  const word = argv.map((given) => UNEXPANDED.exec(given)?.[1]).find((path) => path !== undefined);
  if (word === undefined) return;
  const { yellow } = createColours(wantsColours(stderr, env));
  const meant = `"$HOME${printableLine(word.slice(1))}"`;
  stderr.writeStyled(
    `${yellow('note')} The shell has left the ~ of ${printableLine(word)} as it stands, for it is in quotes or behind a "=". Is ${meant} meant?\n`,
  );
}
