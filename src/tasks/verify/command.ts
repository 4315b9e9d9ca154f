import { reasonText, spanText } from '../../core/words.ts';
import type { Check } from '../feature.ts';
import type { CommandPlace, CommandRunner } from './command-runner.ts';
import type { Evidence } from './evidence.ts';
import { outputEnd } from './output-end.ts';

const SHOWN_LENGTH = 500;

type CommandCheck = Extract<Check, { type: 'command' }>;

export interface CheckPlace extends CommandPlace {
  readonly commands: Pick<CommandRunner, 'run'>;
  readonly signal?: AbortSignal | undefined;
}

/** Runs a command and looks at its exit status and at what it writes. Its feature is trusted. */
export async function checkCommand(check: CommandCheck, place: CheckPlace): Promise<Evidence> {
  const subject = `\`${check.command}\``;
  const controller = new AbortController();
  const stop = () => controller.abort(place.signal?.reason);
  const late = new Error(`ran longer than ${spanText(check.timeoutMs)} and was ended`);
  const timer = setTimeout(() => controller.abort(late), check.timeoutMs);
  place.signal?.addEventListener('abort', stop, { once: true });
  if (place.signal?.aborted) stop();
  const output: Buffer[] = [];
  try {
    const { exitCode, signal, stdout, stderr } = await place.commands.run(check.command, place, {
      signal: controller.signal,
      onOutput: (_, chunk) => void output.push(chunk),
    });
    // Of both: many programs tell of failures on the one, and of lesser things on the other.
    const ends = [stdout, stderr].map((text) => outputEnd(text, SHOWN_LENGTH)).filter((end) => end !== '');
    const shown = ends.length === 0 ? '' : `: ${ends.join('\n')}`;
    if (exitCode !== check.expectExit) {
      const how = signal === undefined ? `ended with exit status ${exitCode}` : `was ended by ${signal}`;
      return { subject, ok: false, text: `${how}, not ${check.expectExit}${shown}` };
    }
    return { subject, ...expected(check, output, shown) };
  } catch (error) {
    place.signal?.throwIfAborted();
    return { subject, ok: false, text: reasonText(error) };
  } finally {
    clearTimeout(timer);
    place.signal?.removeEventListener('abort', stop);
  }
}

function expected({ expectExit, expectText }: CommandCheck, output: readonly Buffer[], shown: string) {
  const ended = `ended with exit status ${expectExit}`;
  if (expectText === undefined) return { ok: true, text: ended };
  const ok = Buffer.concat(output).includes(expectText);
  const wrote = `${ok ? 'and wrote' : 'but did not write'} ${JSON.stringify(expectText)}`;
  return { ok, text: `${ended} ${wrote}${ok ? '' : shown}` };
}
