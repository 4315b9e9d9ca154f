import type { JSX } from 'preact';
import { percentText } from '../../../../src/cli/output/numbers.ts';
import { spanText } from '../../../../src/core/words.ts';
import { doneText, type ItemCounts, KIND_TEXT, noteText, totalOf } from '../../model/groups.ts';
import { durationOf } from '../../model/order.ts';
import type { Row } from '../../model/row.ts';
import { shownStatus } from '../../model/status.ts';
import { durationText, timeText, titleOf } from '../../model/text.ts';
import { now, today } from '../../ui/clock.ts';
import { Icon, StatusText } from '../../ui/icons.tsx';

export function GridRow(props: {
  row: Row;
  elementId: string;
  rank: number;
  top: number;
  isMarked: boolean;
  isSelected: boolean;
  /** 2 if it is below its group. */
  level: 1 | 2;
  /** If it is a group with items. */
  items: ItemCounts | undefined;
  /** Undefined if it cannot be opened. */
  isOpened: boolean | undefined;
  toggle: () => void;
  select: () => void;
}): JSX.Element {
  const { row, rank, level, items, isOpened } = props;
  const isRunning = row.status === 'running';
  // Only what still counts is drawn anew every second.
  const duration = durationOf(row, isRunning ? now.value : 0);
  return (
    <div
      id={props.elementId}
      data-task={row.id}
      class={`grid-row grid-cells${props.isMarked ? ' is-marked' : ''}${level === 2 ? ' is-nested' : ''}`}
      role="row"
      tabIndex={-1}
      aria-rowindex={rank + 2}
      aria-selected={props.isSelected}
      aria-level={level}
      aria-expanded={isOpened}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={props.select}
    >
      <Cell name="seq" isNumber>
        {row.seq}
      </Cell>
      <Cell name="status">
        <StatusText status={shownStatus(row)} />
      </Cell>
      <Cell name="name" title={row.id}>
        {isOpened !== undefined && (
          <button
            type="button"
            class="disclosure"
            tabIndex={-1}
            aria-label={`${isOpened ? 'Close' : 'Open'} ${titleOf(row)}`}
            title={isOpened ? 'Close (←)' : 'Open (→)'}
            onClick={(event) => {
              event.stopPropagation();
              props.toggle();
            }}
          >
            <Icon name={isOpened ? 'down' : 'right'} />
          </button>
        )}
        <span class="row-name">{titleOf(row)}</span>{' '}
        {row.group_kind !== null && (
          <span class="row-count">{doneText(row, items) ?? KIND_TEXT[row.group_kind]}</span>
        )}{' '}
        {titleOf(row) !== row.id && <span class="row-id">{row.id}</span>}
      </Cell>
      <Cell name="function">{row.function}</Cell>
      <Cell name="attempts" isNumber>
        {row.attempts === 0 ? <span class="quiet">–</span> : row.attempts}
      </Cell>
      <Cell name="started">
        {row.started_at === null ? <span class="quiet">–</span> : timeText(row.started_at, today.value)}
      </Cell>
      <Cell name="duration" isNumber>
        {duration === undefined ? <span class="quiet">–</span> : durationText(duration, isRunning)}
      </Cell>
      <Cell name="details">
        {items !== undefined && row.status !== 'failed' ? (
          <GroupDetails row={row} items={items} />
        ) : (
          <Details row={row} />
        )}
      </Cell>
    </div>
  );
}

function Cell(props: {
  name: string;
  isNumber?: boolean;
  title?: string;
  children: JSX.Element['props']['children'];
}): JSX.Element {
  return (
    <div
      role="gridcell"
      class={`cell-${props.name}${props.isNumber ? ' number' : ''}`}
      title={props.title}
      tabIndex={-1}
    >
      {props.children}
    </div>
  );
}

/** How far the items of a group are. */
function GroupDetails({ row, items }: { row: Row; items: ItemCounts }): JSX.Element {
  const note = noteText(items);
  const share = (count: number) => `${(count / totalOf(items)) * 100}%`;
  return (
    <span class="row-progress">
      {row.status === 'running' && row.group_kind === 'for_each' && (
        <span class="mini-bar">
          <span class="is-completed" style={{ width: share(items.completed) }} />
          <span class="is-failed" style={{ width: share(items.failed + items.cancelled + items.skipped) }} />
        </span>
      )}
      <span class="quiet" title={note}>
        {note}
      </span>
    </span>
  );
}

/** The one thing that matters most about it now. */
export function Details({ row }: { row: Row }): JSX.Element | null {
  if (row.retry_at !== null) {
    const left = Math.max(0, Math.ceil((row.retry_at - now.value) / 1000)) * 1000;
    return (
      <>
        {row.reason ?? 'failed'}, next try {left === 0 ? 'now' : `in ${spanText(left)}`}
      </>
    );
  }
  if (row.status === 'running' && (row.progress !== null || row.step !== null)) {
    return (
      <span class="row-progress">
        {row.progress !== null && (
          <>
            <span class="mini-bar">
              <span style={{ width: `${row.progress * 100}%` }} />
            </span>
            {percentText(row.progress)}
          </>
        )}
        <span class="quiet" title={row.step ?? ''}>
          {row.step}
        </span>
      </span>
    );
  }
  if (row.cached) return <span class="quiet">from cache</span>;
  if (row.status === 'failed') return <span title={row.message ?? ''}>{row.message ?? row.reason}</span>;
  if (row.status === 'skipped' && row.cause !== null) return <>because of {row.cause}</>;
  if (row.status === 'skipped' && row.code === 'WHEN_FALSE')
    return <span title={row.message ?? ''}>its condition does not hold</span>;
  if (row.status === 'open' && row.depends_on.length > 0) {
    return (
      <span class="quiet">
        after {row.depends_on.length === 1 ? row.depends_on[0] : `${row.depends_on.length} others`}
      </span>
    );
  }
  return null;
}
