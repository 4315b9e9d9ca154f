import type { Status } from '../api/wire.ts';
import type { Row } from './row.ts';

/** Statuses as they are shown: a pause before a retry is not shown as work. */
export type Shown = Status | 'retrying';

/** In the order in which bars and filters have them: what is done first. */
export const STATUSES: readonly Status[] = ['completed', 'running', 'failed', 'cancelled', 'skipped', 'open'];

export const STATUS_TEXT: Readonly<Record<Shown, string>> = {
  open: 'Waiting',
  running: 'Running',
  retrying: 'Retrying',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  skipped: 'Skipped',
};

export function shownStatus({ status, retry_at }: Pick<Row, 'status' | 'retry_at'>): Shown {
  return status === 'running' && retry_at !== null ? 'retrying' : status;
}

export function hasEnded(status: Status): boolean {
  return status !== 'open' && status !== 'running';
}

/** Those that a retry opens again. */
export function canRetry(status: Status): boolean {
  return status === 'failed' || status === 'cancelled' || status === 'skipped';
}
