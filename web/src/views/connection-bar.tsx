import type { JSX } from 'preact';
import { spanText } from '../../../src/core/words.ts';
import { connection } from '../api/live.ts';
import { now } from '../ui/clock.ts';

/** Says that what is shown may be old, as long as there is no stream. */
export function ConnectionBar({ retry }: { retry: () => void }): JSX.Element | null {
  const { value } = connection;
  if (value.state !== 'lost') return null;
  const seconds = Math.max(0, Math.round((now.value - value.since) / 1000)) * 1000;
  return (
    <div class="connection-bar" role="alert">
      <span>
        <strong>{value.why}</strong> What you see is how things stood{' '}
        {seconds < 1000 ? 'just now' : `${spanText(seconds)} ago`}; the page goes on by itself when the server
        is back.
      </span>
      <button type="button" class="button" onClick={retry}>
        Try now
      </button>
    </div>
  );
}
