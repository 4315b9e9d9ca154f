import type { Io } from '../io.ts';

/** How whoever reads this calls the program: one that npm has started need not be on the path of a shell. */
export function ownName({ env }: Pick<Io, 'env'>): string {
  const isOfNpm = env['npm_command'] === 'exec' || env['npm_lifecycle_event'] !== undefined;
  return isOfNpm ? 'npx volley' : 'volley';
}
