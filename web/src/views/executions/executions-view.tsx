import type { JSX } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import { serverNow } from '../../api/server-time.ts';
import { countItems } from '../../model/groups.ts';
import { arrange, functionsOf, isSearch, isTree, NO_FILTER, type TableState } from '../../model/order.ts';
import type { Row } from '../../model/row.ts';
import type { OpenBatch } from '../../store/state.ts';
import { useThrottled } from '../../ui/clock.ts';
import { Empty } from '../../ui/empty.tsx';
import type { OpenedGroups } from '../../ui/opened-groups.ts';
import { useShortcuts } from '../../ui/shortcuts.ts';
import { ExecutionGrid } from './execution-grid.tsx';
import { FilterBar } from './filter-bar.tsx';
import { useFound } from './use-found.ts';

/** How often the order may change: rows that jump about cannot be read. */
const ARRANGE_MS = 400;

/** The table of executions with what narrows it. */
export function ExecutionsView(props: {
  open: OpenBatch;
  task: string | undefined;
  table: TableState;
  change: (table: TableState) => void;
  groups: OpenedGroups;
}): JSX.Element {
  const { open, task, table, change, groups } = props;
  const { filter, order } = table;
  const search = useRef<HTMLInputElement>(null);
  useShortcuts({ '/': () => search.current?.focus() });
  const settled = useThrottled(open, ARRANGE_MS);
  const rows = settled.name === open.name && settled.places === open.places ? settled.rows : open.rows;
  const { opened } = groups;
  const [found, isFound] = useFound(open.name, filter.search.trim(), open.places);
  const places = useMemo(
    () => arrange(rows, filter, order, serverNow(), opened, found),
    [rows, filter, order, opened, found],
  );
  const items = useMemo(() => countItems(rows), [rows]);
  const functions = useMemo(() => functionsOf(open.rows), [open.places]);
  return (
    <>
      <FilterBar
        filter={filter}
        change={(some) => change({ ...table, filter: { ...filter, ...some } })}
        functions={functions}
        shown={isFound ? shownText(places.length, open.rows, table) : 'Searching…'}
        searchRef={search}
      />
      {open.rows.length === 0 ? (
        <Empty title={open.isLoaded ? 'No tasks in this batch' : 'Reading the executions…'} />
      ) : (
        <ExecutionGrid
          rows={open.rows}
          places={places}
          order={order}
          setOrder={(next) => change({ ...table, order: next })}
          task={task}
          items={items}
          isTree={isTree(filter, order)}
          groups={isSearch(filter) ? undefined : groups}
        />
      )}
      {places.length === 0 && open.rows.length > 0 && isFound && (
        <Empty title="Nothing matches">
          <p>
            <button type="button" class="button" onClick={() => change({ ...table, filter: NO_FILTER })}>
              Show all {open.rows.length}
            </button>
          </p>
        </Empty>
      )}
    </>
  );
}

/** `120 shown`, `12 of 120 shown`, `3 shown, 50 items in groups`. */
function shownText(shown: number, rows: readonly Row[], { filter }: TableState): string {
  const isFiltered = isSearch(filter) || filter.function !== '';
  if (shown === rows.length) return `${numberText(shown)} shown`;
  if (isFiltered) return `${numberText(shown)} of ${numberText(rows.length)} shown`;
  return `${numberText(shown)} shown, ${numberText(rows.length - shown)} more in groups`;
}
