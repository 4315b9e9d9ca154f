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
        {(
          [
            ['Zoom out', '−', 'minus', props.zoomOut],
            ['Zoom in', '+', 'plus', props.zoomIn],
            ['Show all', '0', 'fit', props.showAll],
          ] as const
        ).map(([name, key, icon, onClick]) => (
          <button
            key={name}
            type="button"
            class="button is-icon"
            aria-label={name}
            title={`${name} (${key})`}
            onClick={onClick}
          >
            <Icon name={icon} />
          </button>
        ))}
      </div>
    </div>
  );
}
