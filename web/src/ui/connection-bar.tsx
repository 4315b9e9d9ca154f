import type { JSX } from 'preact';
import { spanText } from '../../../src/core/words.ts';
import { connection } from '../api/live.ts';
import { now } from './clock.ts';

/** Says that what is shown may be old, as long as there is no stream. */
export function ConnectionBar({ retry }: { retry: () => void }): JSX.Element | null {
  const { value } = connection;
  if (value.state === 'crowded') return <CrowdedBar by={value.by} />;
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

function CrowdedBar({ by }: { by: 'browser' | 'server' }): JSX.Element {
  return (
    <div class="connection-bar" role="status">
      <span>
        {by === 'browser' ? (
          <>
            <strong>Too many windows of the dashboard are open.</strong> A browser keeps only a few
            connections to one server, and others have them.
          </>
        ) : (
          <strong>The server has no live connection to spare.</strong>
        )}{' '}
        This window is read anew every ten seconds, and is live again as soon as there is room.
      </span>
    </div>
  );
}

/** Says that a page could not be read. It is read again on its own. */
export function ReadError({ text }: { text: string }): JSX.Element {
  return (
    <p class="connection-bar" role="alert">
      <span>
        <strong>{text}</strong> The page goes on by itself.
      </span>
    </p>
  );
}
