import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import type { ApiError } from '../../api/http.ts';
import { serverNow } from '../../api/server-time.ts';
import { may } from '../../api/session.ts';
import type { Batch } from '../../api/wire.ts';
import {
  arrangeBatches,
  type BatchList,
  type BatchSortKey,
  batchListOf,
  batchListQuery,
  PHASE_TEXT,
  PHASES,
} from '../../model/batch-list.ts';
import type { Query } from '../../model/route.ts';
import { ListSync } from '../../store/list-sync.ts';
import { state } from '../../store/store.ts';
import { ConnectionBar } from '../../ui/connection-bar.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Icon } from '../../ui/icons.tsx';
import { setQuery } from '../../ui/route.ts';
import { useShortcuts } from '../../ui/shortcuts.ts';
import { BatchRow } from './batch-row.tsx';
import { BULK_ACTIONS, type BulkAction, BulkDialog } from './bulk-dialog.tsx';

const COLUMNS: readonly (readonly [key: BatchSortKey | undefined, text: string, className?: string])[] = [
  ['name', 'Batch'],
  ['state', 'State'],
  ['progress', 'Progress'],
  ['failed', 'Failed', 'number'],
  ['duration', 'Duration', 'number'],
  [undefined, 'Time left'],
  ['added', 'Added'],
];

/** All batches, or those that somebody looks for, and what can be done with several of them at once. */
export function BatchesPage({ query, add }: { query: Query; add: () => void }): JSX.Element {
  const [error, setError] = useState<ApiError>();
  const [sync, setSync] = useState<ListSync>();
  const list = useMemo(() => batchListOf(query), [query['q'], query['state'], query['sort']]);
  const change = (some: Partial<BatchList>) => setQuery(batchListQuery({ ...list, ...some }));
  const search = useRef<HTMLInputElement>(null);
  useShortcuts({ '/': () => search.current?.focus() });
  useEffect(() => {
    document.title = 'Volley';
    const own = new ListSync(setError, { search: list.search.trim(), phases: [...list.phases] });
    setSync(own);
    return () => own.close();
  }, []);
  useEffect(
    () => sync?.find({ search: list.search.trim(), phases: [...list.phases] }),
    [sync, list.search, list.phases],
  );
  const { batches, isListLoaded } = state.value;
  const sorted = useMemo(() => arrangeBatches(batches.values(), list, serverNow()), [batches, list]);
  const isFiltered = list.search.trim() !== '' || list.phases.size > 0;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const chosen = sorted.filter(({ batch }) => selected.has(batch));
  const select = (names: readonly string[], isSelected: boolean) => {
    const next = new Set(selected);
    for (const name of names) isSelected ? next.add(name) : next.delete(name);
    setSelected(next);
  };
  const [bulk, setBulk] = useState<{ action: BulkAction; batches: readonly Batch[] }>();
  return (
    <div class="page">
      <ConnectionBar retry={() => sync?.retryNow()} />
      <h1 class="page-title">Batches</h1>
      {error !== undefined && (
        <p class="problem" role="alert">
          {error.text}
        </p>
      )}
      {(sorted.length > 0 || isFiltered) && (
        <div class="filter-bar">
          <div class="search">
            <Icon name="search" />
            <input
              ref={search}
              class="input"
              type="search"
              placeholder="Search names"
              aria-label="Search names"
              title="Search (/)"
              value={list.search}
              onInput={(event) => change({ search: event.currentTarget.value })}
            />
          </div>
          <div class="chips" role="group" aria-label="States">
            {PHASES.map((phase) => (
              <button
                key={phase}
                type="button"
                class="chip"
                aria-pressed={list.phases.has(phase)}
                onClick={() => change({ phases: toggled(list.phases, phase) })}
              >
                {PHASE_TEXT[phase]}
              </button>
            ))}
          </div>
          <span class="spring" />
          <span class="quiet shown-count" role="status">
            {numberText(sorted.length)}
            {sync?.hasMore ? ' newest' : ''} shown
          </span>
        </div>
      )}
      {may('run') && chosen.length > 0 && (
        <div class="selection-bar" role="group" aria-label="What is selected">
          <b>{numberText(chosen.length)} selected</b>
          {BULK_ACTIONS.filter(({ scope }) => may(scope)).map((action) => (
            <button
              key={action.name}
              type="button"
              class="button"
              disabled={!chosen.some((batch) => action.preview(batch).can)}
              onClick={() => setBulk({ action, batches: chosen })}
            >
              <Icon name={action.icon} /> {action.name}
            </button>
          ))}
          <button type="button" class="button is-quiet" onClick={() => setSelected(new Set())}>
            Select none
          </button>
        </div>
      )}
      {sorted.length > 0 && (
        <table class="batches">
          <thead>
            <tr>
              {may('run') && (
                <td class="batches-select">
                  <input
                    type="checkbox"
                    aria-label="Select all that are shown"
                    checked={chosen.length === sorted.length}
                    onChange={(event) =>
                      select(
                        sorted.map(({ batch }) => batch),
                        event.currentTarget.checked,
                      )
                    }
                  />
                </td>
              )}
              {COLUMNS.map(([key, text, className]) => (
                <HeadCell key={text} {...{ sortKey: key, text, className, list, change }} />
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((batch) => (
              <BatchRow
                key={batch.batch}
                batch={batch}
                isSelected={selected.has(batch.batch)}
                select={may('run') ? (isSelected) => select([batch.batch], isSelected) : undefined}
              />
            ))}
          </tbody>
        </table>
      )}
      {sync?.hasMore && (
        <div class="more-batches">
          <button type="button" class="button" onClick={() => void sync.readMore()}>
            Older batches
          </button>
          {list.order !== undefined && (
            <span class="quiet">The newest ones are sorted; there are older ones.</span>
          )}
        </div>
      )}
      {isListLoaded && sorted.length === 0 && !isFiltered && <NoBatches add={add} />}
      {isListLoaded && sorted.length === 0 && isFiltered && !sync?.hasMore && (
        <Empty title="No batch matches">
          <p>
            <button type="button" class="button" onClick={() => change({ search: '', phases: new Set() })}>
              Show all
            </button>
          </p>
        </Empty>
      )}
      {!isListLoaded && error === undefined && <p class="quiet">Reading the list of batches…</p>}
      {bulk !== undefined && (
        <BulkDialog
          {...bulk}
          close={() => {
            setBulk(undefined);
            setSelected(new Set());
          }}
        />
      )}
    </div>
  );
}

function toggled<T>(values: ReadonlySet<T>, value: T): ReadonlySet<T> {
  const next = new Set(values);
  if (!next.delete(value)) next.add(value);
  return next;
}

function HeadCell(props: {
  sortKey: BatchSortKey | undefined;
  text: string;
  className: string | undefined;
  list: BatchList;
  change: (some: Partial<BatchList>) => void;
}): JSX.Element {
  const { sortKey, text, className, list, change } = props;
  const { order } = list;
  if (sortKey === undefined) {
    return (
      <th scope="col" class={className}>
        {text}
      </th>
    );
  }
  const isSorted = order?.key === sortKey;
  // The largest first, but names from A on; a third time there is no order again.
  const first = { key: sortKey, isDescending: sortKey !== 'name' && sortKey !== 'state' };
  const isTurned = isSorted && order.isDescending !== first.isDescending;
  const next = !isSorted ? first : isTurned ? undefined : { ...first, isDescending: !first.isDescending };
  return (
    <th
      scope="col"
      class={className}
      aria-sort={isSorted ? (order.isDescending ? 'descending' : 'ascending') : 'none'}
    >
      <button type="button" class="sort" onClick={() => change({ order: next })}>
        {text}
        {isSorted && <Icon name={order.isDescending ? 'down' : 'up'} />}
      </button>
    </th>
  );
}

function NoBatches({ add }: { add: () => void }): JSX.Element {
  return (
    <Empty title="No batches yet">
      <p>
        Run one from a terminal in the same folder, and it shows up here while it works:
        <code class="block">volley init && volley run volley-example.json</code>
      </p>
      {may('run') && (
        <p>
          or{' '}
          <button type="button" class="button" onClick={add}>
            add tasks here
          </button>
        </p>
      )}
    </Empty>
  );
}
