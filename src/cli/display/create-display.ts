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
  readonly timing?: Timing;
}

/** The display that suits the stream: pictures on a terminal, plain lines in a pipe, in CI or on a dumb terminal. */
export function createDisplay({ stream, env, view, timing }: DisplayOptions): Display {
  const colours = createColours(wantsColours(stream, env));
  const options = { stream, view, colours, ...(timing && { timing }) };
  return canDraw(stream, env) ? new LiveDisplay(options) : new PlainDisplay(options);
}

function canDraw(
  stream: DisplayOptions['stream'],
  { CI: ci, TERM: terminal }: DisplayOptions['env'],
): boolean {
  const isCi = ci !== undefined && ci !== '' && ci !== '0' && ci !== 'false';
  return stream.isTTY === true && terminal !== 'dumb' && !isCi;
}
