import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../api/http.ts';
import { may } from '../../api/session.ts';
import { ListSync } from '../../store/list-sync.ts';
import { state } from '../../store/store.ts';
import { Empty } from '../../ui/empty.tsx';
import { ConnectionBar } from '../connection-bar.tsx';
import { BatchRow } from './batch-row.tsx';

/** All batches, those that run first, then the newest first. */
export function BatchesPage({ add }: { add: () => void }): JSX.Element {
  const [error, setError] = useState<ApiError>();
  const sync = useRef<ListSync | undefined>(undefined);
  useEffect(() => {
    document.title = 'Volley';
    sync.current = new ListSync(setError);
    return () => sync.current?.close();
  }, []);
  const { batches, isListLoaded } = state.value;
  const sorted = useMemo(
    () =>
      [...batches.values()].sort(
        (a, b) => Number(isBusy(b)) - Number(isBusy(a)) || b.created_at - a.created_at,
      ),
    [batches],
  );
  return (
    <div class="page">
      <ConnectionBar retry={() => sync.current?.retryNow()} />
      <h1 class="page-title">Batches</h1>
      {error !== undefined && (
        <p class="problem" role="alert">
          {error.text}
        </p>
      )}
      {sorted.length > 0 && (
        <table class="batches">
          <thead>
            <tr>
              <th scope="col">Batch</th>
              <th scope="col">State</th>
              <th scope="col">Progress</th>
              <th scope="col" class="number">
                Failed
              </th>
              <th scope="col" class="number">
                Rate
              </th>
              <th scope="col">Time left</th>
              <th scope="col">Added</th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((batch) => (
              <BatchRow key={batch.batch} batch={batch} />
            ))}
          </tbody>
        </table>
      )}
      {sync.current?.hasMore && (
        <button type="button" class="button" onClick={() => void sync.current?.readMore()}>
          Older batches
        </button>
      )}
      {isListLoaded && sorted.length === 0 && <NoBatches add={add} />}
      {!isListLoaded && error === undefined && <p class="quiet">Reading the list of batches…</p>}
    </div>
  );
}

function isBusy({ state }: { state: string }): boolean {
  return state !== 'idle';
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
