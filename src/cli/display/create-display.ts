import { createColours, wantsColours } from '../output/colours.ts';
import { LiveDisplay } from './live-display.ts';
import { PlainDisplay } from './plain-display.ts';
import type { TerminalStream } from './screen.ts';
import type { BatchView, Display, Timing } from './view.ts';

export interface DisplayOptions {
  readonly stream: TerminalStream & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asked whenever something is drawn. */
  readonly view: () => BatchView;
  /** A word to the user, such as how to stop at once. */
  readonly note?: () => string | undefined;
  readonly timing?: Timing;
}

/** The display that suits the stream: pictures on a terminal, plain lines in a pipe, in CI or on a dumb terminal. */
export function createDisplay({
  stream,
  env,
  view,
  note = () => undefined,
  timing,
}: DisplayOptions): Display {
  const colours = createColours(wantsColours(stream, env));
  const options = { stream, view, colours, ...(timing && { timing }) };
  if (!canDraw(stream, env)) return new PlainDisplay({ ...options, note });
  const withNote = () => {
    const said = note();
    return said === undefined ? view() : { ...view(), note: said };
  };
  return new LiveDisplay({ ...options, view: withNote });
}

function canDraw(
  stream: DisplayOptions['stream'],
  { CI: ci, TERM: terminal }: DisplayOptions['env'],
): boolean {
  const isCi = ci !== undefined && ci !== '' && ci !== '0' && ci !== 'false';
  return stream.isTTY === true && terminal !== 'dumb' && !isCi;
}
