import type { JSX } from 'preact';
import { dismiss, notices } from './actions.ts';
import { Icon } from './icons.tsx';

/** What was done, or why it could not be; read out by screen readers as it comes. */
export function Notices(): JSX.Element {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, kind, text }) => (
        <div key={id} class={`notice is-${kind}`}>
          <span>{text}</span>
          <button
            type="button"
            class="button is-quiet is-icon"
            aria-label="Dismiss"
            onClick={() => dismiss(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
