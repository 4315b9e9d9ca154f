import type { VolleyConfig } from '../../config/config.ts';
import { trustText } from '../../config/trust.ts';
import { printableLine } from '../../core/printable-text.ts';
import type { Io } from '../io.ts';
import { createColours, wantsColours } from './colours.ts';
import { ownCommands } from './own-name.ts';

/** Says on the error stream which settings of the folder do not hold, and what to type. Programs read it elsewhere. */
export function noteTrust(
  { trust }: Pick<VolleyConfig, 'trust'>,
  { json, config }: { readonly json?: boolean | undefined; readonly config?: string | undefined },
  io: Pick<Io, 'stderr' | 'env'>,
): void {
  if (json === true || trust.waiting.length === 0) return;
  const { yellow } = createColours(wantsColours(io.stderr, io.env));
  io.stderr.writeStyled(
    `${yellow('note')} ${printableLine(ownCommands(trustText(trust), { config }, io))}\n`,
  );
}
