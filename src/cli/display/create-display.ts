import type { Timing } from '../../batch/timing.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { createColors, wantsColors } from '../output/colors.ts';
import { LiveDisplay } from './live-display.ts';
import { PlainDisplay } from './plain-display.ts';
import type { TerminalStream } from './screen.ts';
import type { Display, DisplayedBatch } from './view.ts';

export interface DisplayOptions {
  readonly stream: TerminalStream & { readonly isTTY?: boolean };
  readonly env: EnvironmentVariables;
  /** Called for each drawing. */
  readonly view: () => DisplayedBatch;
  /** What the user has to know now, such as how to cancel. Cheap: called at every change. */
  readonly note?: () => string | undefined;
  readonly timing?: Timing;
}

/** Live pictures on a terminal; plain lines in a pipe, in CI and on a dumb terminal. */
export function createDisplay({
  stream,
  env,
  view,
  note = () => undefined,
  timing,
}: DisplayOptions): Display {
  const colors = createColors(wantsColors(stream, env));
  const options = { stream, view, colors, ...(timing && { timing }) };
  const { CI: ci, TERM: terminal } = env;
  const isCi = ci !== undefined && ci !== '' && ci !== '0' && ci !== 'false';
  const canDraw = stream.isTTY === true && terminal !== 'dumb' && !isCi;
  if (!canDraw) return new PlainDisplay({ ...options, note });
  const withNote = () => {
    const text = note();
    return text === undefined ? view() : { ...view(), note: text };
  };
  return new LiveDisplay({ ...options, view: withNote });
}
