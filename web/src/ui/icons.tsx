import type { JSX } from 'preact';
import { type Shown, STATUS_TEXT } from '../model/status.ts';

/** Outlines on a field of 16 by 16. The shape alone shows the status, whatever the colour. */
export const STATUS_PATHS: Readonly<Record<Shown, string>> = {
  open: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0 -11',
  running: 'M5 3.5L12.5 8L5 12.5Z',
  retrying: 'M12.8 6.5A5 5 0 1 0 13 9.2M13.2 3V6.7H9.5',
  completed: 'M3 8.5L6.5 12L13 4.5',
  failed: 'M4 4L12 12M12 4L4 12',
  cancelled: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0 -11M4.2 4.2L11.8 11.8',
  skipped: 'M3 4L7.5 8L3 12M8.5 4L13 8L8.5 12',
};

export function StatusIcon({ status }: { status: Shown }): JSX.Element {
  return (
    <svg class={`status-icon is-${status}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={STATUS_PATHS[status]} />
    </svg>
  );
}

/** The icon with its word. */
export function StatusText({ status }: { status: Shown }): JSX.Element {
  return (
    <span class={`status-text is-${status}`}>
      <StatusIcon status={status} />
      {STATUS_TEXT[status]}
    </span>
  );
}

const PATHS = {
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.4 10.4L14 14',
  sun: 'M8 5a3 3 0 1 0 0 6a3 3 0 1 0 0-6M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M3.2 12.8l1.1-1.1M11.7 4.3l1.1-1.1',
  moon: 'M13 9.8A5.6 5.6 0 0 1 6.2 3a5.6 5.6 0 1 0 6.8 6.8Z',
  system: 'M2 3h12v8H2ZM6 14h4',
  help: 'M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12.2v.3',
  back: 'M10 3L5 8l5 5',
  play: 'M5 3.5L12.5 8L5 12.5Z',
  stop: 'M4.5 4.5h7v7h-7Z',
  retry: 'M12.8 6.5A5 5 0 1 0 13 9.2M13.2 3V6.7H9.5',
  download: 'M8 2.5v7.5M4.8 7L8 10.2L11.2 7M3 13.5h10',
  up: 'M4 10l4-4l4 4',
  down: 'M4 6l4 4l4-4',
  right: 'M6 4l4 4l-4 4',
  fit: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  minus: 'M3 8h10',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
