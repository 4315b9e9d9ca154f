import type { Io } from '../io.ts';
import { createColours, wantsColours } from './colours.ts';
import { plainText } from './plain-text.ts';

const UNEXPANDED = /^(?:--?[\w-]+=)?(~(?:\/.*)?)$/s;

/** After a refusal: shells put the home folder in for a `~` only where it begins a word, and stands in no quotes. */
export function noteHome(argv: readonly string[], { stderr, env }: Pick<Io, 'stderr' | 'env'>): void {
  const word = argv.map((given) => UNEXPANDED.exec(given)?.[1]).find((path) => path !== undefined);
  if (word === undefined) return;
  const { yellow } = createColours(wantsColours(stderr, env));
  const meant = `"$HOME${plainText(word.slice(1))}"`;
  stderr.write(
    `${yellow('note')} The shell has left the ~ of ${plainText(word)} as it stands, for it is in quotes or behind a "=". Is ${meant} meant?\n`,
  );
}
