import type { JSX } from 'preact';
import { connection } from '../api/live.ts';
import { may, session } from '../api/session.ts';
import { dialog } from '../ui/dialogs.ts';
import { Icon } from '../ui/icons.tsx';
import { route } from '../ui/route.ts';
import { switchTheme, theme } from '../ui/theme.ts';

/** The pages, in the order of the header. */
const PAGES = [
  ['batches', '#/', 'Batches'],
  ['features', '#/features', 'Features'],
  ['machine', '#/machine', 'Machine'],
  ['workers', '#/workers', 'Workers'],
] as const;

const THEME_ICON = { system: 'system', light: 'sun', dark: 'moon' } as const;
const THEME_TEXT = { system: 'as the system', light: 'light', dark: 'dark' } as const;

export function Header({ add }: { add: () => void }): JSX.Element {
  // A batch is one of the batches.
  const page = route.value.page === 'batch' ? 'batches' : route.value.page;
  const project = session.value.state === 'in' ? session.value.project : '';
  return (
    <header class="header">
      <a class="brand" href="#/" aria-label="Volley, all batches">
        <img src="./icon.svg" alt="" width="22" height="22" />
        <span class="brand-name">Volley</span>
      </a>
      {project !== '' && (
        <span class="project" title={`Project ${project}`}>
          {project}
        </span>
      )}
      <nav aria-label="Pages">
        {PAGES.map(([name, hash, text]) => (
          <a key={name} href={hash} aria-current={page === name ? 'page' : undefined}>
            {text}
          </a>
        ))}
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
        class="button is-quiet is-icon for-keyboard"
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

/** Pages that poll instead of listening have no stream to show. */
function LiveMark(): JSX.Element | null {
  const { state } = connection.value;
  if (!['batches', 'batch'].includes(route.value.page) || state === 'absent') return null;
  return (
    <span class={`live is-${state}`} role="status">
      <span class="live-dot" aria-hidden="true" />
      {LIVE_TEXT[state]}
    </span>
  );
}
