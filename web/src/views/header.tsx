import type { JSX } from 'preact';
import { connection } from '../api/live.ts';
import { may } from '../api/session.ts';
import { dialog } from '../ui/dialogs.ts';
import { Icon } from '../ui/icons.tsx';
import { route } from '../ui/route.ts';
import { switchTheme, theme } from '../ui/theme.ts';

const THEME_ICON = { system: 'system', light: 'sun', dark: 'moon' } as const;
const THEME_TEXT = { system: 'as the system', light: 'light', dark: 'dark' } as const;

export function Header({ add }: { add: () => void }): JSX.Element {
  const { page } = route.value;
  return (
    <header class="header">
      <a class="brand" href="#/" aria-label="Volley, all batches">
        <img src="./icon.svg" alt="" width="22" height="22" />
        <span>Volley</span>
      </a>
      <nav aria-label="Pages">
        <a href="#/" aria-current={page === 'machine' || page === 'workers' ? undefined : 'page'}>
          Batches
        </a>
        <a href="#/machine" aria-current={page === 'machine' ? 'page' : undefined}>
          Machine
        </a>
        <a href="#/workers" aria-current={page === 'workers' ? 'page' : undefined}>
          Workers
        </a>
      </nav>
      <span class="spring" />
      <LiveMark />
      {may('run') && (
        <button type="button" class="button is-main" onClick={add} title="New tasks (n)">
          <Icon name="plus" />
          <span class="wide-only">New tasks</span>
          <span class="sr-only narrow-only">New tasks</span>
        </button>
      )}
      <button
        type="button"
        class="button is-quiet is-icon"
        onClick={switchTheme}
        aria-label={`Colours: ${THEME_TEXT[theme.value]}. Switch`}
        title="Light, dark or as the system (t)"
      >
        <Icon name={THEME_ICON[theme.value]} />
      </button>
      <button
        type="button"
        class="button is-quiet is-icon"
        onClick={() => {
          dialog.value = { kind: 'help' };
        }}
        aria-label="Keyboard help"
        title="Keyboard help (?)"
      >
        <Icon name="help" />
      </button>
    </header>
  );
}

const LIVE_TEXT = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Reconnecting',
  crowded: 'Every 10 s',
} as const;

/** The pages about machines ask instead of listening, so that they have no stream to tell of. */
function LiveMark(): JSX.Element | null {
  const { state } = connection.value;
  const { page } = route.value;
  if (page === 'machine' || page === 'workers' || state === 'absent') return null;
  return (
    <span class={`live is-${state}`} role="status">
      <span class="live-dot" aria-hidden="true" />
      {LIVE_TEXT[state]}
    </span>
  );
}
