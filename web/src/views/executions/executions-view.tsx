import type { JSX } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { serverNow } from '../../api/server-time.ts';
import { arrange, functionsOf, NO_FILTER, type TableState } from '../../model/order.ts';
import type { OpenBatch } from '../../store/state.ts';
import { useThrottled } from '../../ui/clock.ts';
import { Empty } from '../../ui/empty.tsx';
import { useShortcuts } from '../../ui/shortcuts.ts';
import { ExecutionGrid } from './execution-grid.tsx';
import { FilterBar } from './filter-bar.tsx';

/** How often the order may change: rows that jump about cannot be read. */
const ARRANGE_MS = 400;

/** The table of executions with what narrows it. */
export function ExecutionsView(props: {
  open: OpenBatch;
  task: string | undefined;
  table: TableState;
  change: (table: TableState) => void;
}): JSX.Element {
  const { open, task, table, change } = props;
  const { filter, order } = table;
  const search = useRef<HTMLInputElement>(null);
  useShortcuts({ '/': () => search.current?.focus() });
  const settled = useThrottled(open, ARRANGE_MS);
  const rows = settled.name === open.name && settled.places === open.places ? settled.rows : open.rows;
  const places = useMemo(() => arrange(rows, filter, order, serverNow()), [rows, filter, order]);
  const functions = useMemo(() => functionsOf(open.rows), [open.places]);
  return (
    <>
      <FilterBar
        filter={filter}
        change={(some) => change({ ...table, filter: { ...filter, ...some } })}
        functions={functions}
        shown={places.length}
        total={open.rows.length}
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
        />
      )}
      {places.length === 0 && open.rows.length > 0 && (
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
