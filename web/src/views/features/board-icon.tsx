import type { JSX } from 'preact';
import type { BoardState } from '../../model/board.ts';
import { STATUS_PATHS } from '../../ui/icons.tsx';

/** Subtasks have the signs of executions where they are in the same state. */
const SIGN = {
  waiting: 'open',
  ready: 'skipped',
  running: 'running',
  review: 'retrying',
  blocked: 'cancelled',
  failed: 'failed',
  completed: 'completed',
} as const;

export function BoardIcon({ state }: { state: BoardState }): JSX.Element {
  const sign = SIGN[state];
  return (
    <svg class={`status-icon is-${sign}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={STATUS_PATHS[sign]} />
    </svg>
  );
}
