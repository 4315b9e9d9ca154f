import type { ComponentChildren, JSX } from 'preact';
import { type Shown, STATUS_TEXT } from '../model/status.ts';
import { Icon, StatusIcon } from './icons.tsx';

const LEGEND: readonly Shown[] = [
  'open',
  'running',
  'retrying',
  'completed',
  'failed',
  'cancelled',
  'skipped',
];

/** Below a drawing: what its marks mean, and buttons for what keys and wheel do. */
export function DrawingTools(props: {
  zoomIn: () => void;
  zoomOut: () => void;
  showAll: () => void;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="drawing-tools">
      <ul class="legend" aria-label="What the marks mean">
        {LEGEND.map((status) => (
          <li key={status}>
            <StatusIcon status={status} /> {STATUS_TEXT[status]}
          </li>
        ))}
      </ul>
      {props.children}
      <span class="spring" />
      <div class="button-group">
        <button
          type="button"
          class="button is-icon"
          aria-label="Zoom out"
          title="Zoom out (−)"
          onClick={props.zoomOut}
        >
          <Icon name="minus" />
        </button>
        <button
          type="button"
          class="button is-icon"
          aria-label="Zoom in"
          title="Zoom in (+)"
          onClick={props.zoomIn}
        >
          <Icon name="plus" />
        </button>
        <button
          type="button"
          class="button is-icon"
          aria-label="Show all"
          title="Show all (0)"
          onClick={props.showAll}
        >
          <Icon name="fit" />
        </button>
      </div>
    </div>
  );
}
