import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { ItemCounts } from '../../model/groups.ts';
import type { Order, SortKey } from '../../model/order.ts';
import type { Row } from '../../model/row.ts';
import { Icon } from '../../ui/icons.tsx';
import type { OpenedGroups } from '../../ui/opened-groups.ts';
import { selectTask } from '../../ui/route.ts';
import { GridRow } from './grid-row.tsx';
import { useWindow } from './use-window.ts';

const COLUMNS: readonly (readonly [key: SortKey | undefined, text: string, className: string])[] = [
  ['seq', '#', 'number'],
  ['status', 'Status', ''],
  ['name', 'Name', ''],
  ['function', 'Function', ''],
  ['attempts', 'Attempts', 'number'],
  ['started', 'Started', ''],
  ['duration', 'Duration', 'number'],
  [undefined, 'Details', ''],
];

/** Thousands of rows of which only those in sight exist. The mark moves by keys, and the list follows it. */
export function ExecutionGrid(props: {
  rows: readonly Row[];
  places: readonly number[];
  order: Order;
  setOrder: (order: Order) => void;
  task: string | undefined;
  items: ReadonlyMap<string, ItemCounts>;
  /** Whether items stand below their groups. */
  isTree: boolean;
  /** Undefined while somebody looks for something: then nothing is hidden in groups. */
  groups: OpenedGroups | undefined;
}): JSX.Element {
  const { rows, places, order, setOrder, task, items, isTree, groups } = props;
  const body = useRef<HTMLDivElement>(null);
  const [marked, setMarked] = useState<string>();
  const { rowHeight, first, end, perPage } = useWindow(body, places.length);

  const mark = (rank: number) => {
    const next = Math.max(0, Math.min(places.length - 1, rank));
    const element = body.current!;
    const top = next * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + rowHeight - element.clientHeight;
    }
    setMarked(rows[places[next] ?? -1]?.id);
  };
  const shownGroups = useMemo(() => {
    const shown = places
      .flatMap((place) => rows[place] ?? [])
      .filter(({ group_kind }) => group_kind !== null);
    return new Set(shown.map(({ id }) => id));
  }, [places]);
  const isNested = ({ group }: Row) => isTree && group !== null && shownGroups.has(group);
  const canOpen = ({ id }: Row) => groups !== undefined && items.has(id) && shownGroups.has(id);
  /** Opens or closes a group, or goes from an item to its group. */
  const step = (at: number, isForward: boolean): boolean => {
    const row = rows[places[at] ?? -1];
    if (row === undefined) return false;
    const isOpened = groups?.opened.has(row.id) === true;
    if (canOpen(row) && isOpened !== isForward) groups!.toggle(row.id);
    else if (!isForward && isNested(row)) mark(places.findIndex((place) => rows[place]!.id === row.group));
    else if (isForward && canOpen(row)) mark(at + 1);
    else return false;
    return true;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = places.findIndex((place) => rows[place]!.id === marked);
    const isSideways = event.key === 'ArrowRight' || event.key === 'ArrowLeft';
    const target = targetOf(event.key, at, perPage, places.length);
    // On a button of the head, Enter presses that.
    const isPressed = event.target instanceof HTMLButtonElement;
    if (event.key === 'Enter' && marked !== undefined && !isPressed) selectTask(marked);
    else if (target !== undefined) mark(target);
    else if (!isSideways || !step(at, event.key === 'ArrowRight')) return;
    event.preventDefault();
    // A row that has the focus is gone when it is out of sight, and the focus with it.
    if (!isPressed) body.current!.focus({ preventScroll: true });
  };
  const visible = places.slice(first, end).map((place) => rows[place]!);
  const active = visible.find(({ id }) => id === marked);
  return (
    <div class="grid-frame">
      <div
        ref={body}
        class="grid"
        role="treegrid"
        tabIndex={0}
        aria-label="Executions"
        aria-rowcount={places.length + 1}
        aria-colcount={COLUMNS.length}
        aria-activedescendant={active === undefined ? undefined : rowId(active)}
        onKeyDown={onKeyDown}
      >
        <div class="grid-head grid-cells" role="row" aria-rowindex={1} tabIndex={-1}>
          {COLUMNS.map(([key, text, className]) => (
            <HeadCell
              key={text}
              sortKey={key}
              text={text}
              className={className}
              order={order}
              setOrder={setOrder}
            />
          ))}
        </div>
        <div role="rowgroup" class="grid-body" style={{ height: `${places.length * rowHeight}px` }}>
          {visible.map((row, index) => (
            <GridRow
              key={row.id}
              row={row}
              elementId={rowId(row)}
              rank={first + index}
              top={(first + index) * rowHeight}
              isMarked={row.id === marked}
              isSelected={row.id === task}
              level={isNested(row) ? 2 : 1}
              items={items.get(row.id)}
              isOpened={canOpen(row) ? groups!.opened.has(row.id) : undefined}
              toggle={() => {
                setMarked(row.id);
                groups!.toggle(row.id);
              }}
              select={() => {
                body.current!.focus({ preventScroll: true });
                setMarked(row.id);
                selectTask(row.id);
              }}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** Not by the id of the task, which may have blanks. */
function rowId({ seq }: Row): string {
  return `row-${seq}`;
}

function targetOf(key: string, at: number, page: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return at + 1;
    case 'ArrowUp':
      return at - 1;
    case 'PageDown':
      return at + page;
    case 'PageUp':
      return at - page;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}

function HeadCell(props: {
  sortKey: SortKey | undefined;
  text: string;
  className: string;
  order: Order;
  setOrder: (order: Order) => void;
}): JSX.Element {
  const { sortKey, text, className, order, setOrder } = props;
  const isSorted = sortKey === order.key;
  if (sortKey === undefined) {
    return (
      <div role="columnheader" class={className} tabIndex={-1}>
        {text}
      </div>
    );
  }
  return (
    <div
      role="columnheader"
      class={className}
      tabIndex={-1}
      aria-sort={isSorted ? (order.isDescending ? 'descending' : 'ascending') : 'none'}
    >
      <button
        type="button"
        class="sort"
        onClick={() => setOrder({ key: sortKey, isDescending: isSorted && !order.isDescending })}
      >
        {text}
        {isSorted && <Icon name={order.isDescending ? 'down' : 'up'} />}
      </button>
    </div>
  );
}
