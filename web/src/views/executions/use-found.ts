import { useEffect, useState } from 'preact/hooks';
import { ApiError, get } from '../../api/http.ts';
import type { Execution } from '../../api/wire.ts';

/** How long somebody must have stopped typing. */
const SETTLE_MS = 250;
const PAGE = 1000;

interface FoundPage {
  readonly executions: readonly Pick<Execution, 'id'>[];
  readonly next_cursor: string | null;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * The ids of the executions that the server finds: it also knows the arguments, which the table does not. `rows` changes
 * when executions come or go, and they are looked for again.
 */
export function useFound(
  batch: string,
  search: string,
  rows: object,
): [ids: ReadonlySet<string>, isOver: boolean] {
  const [found, setFound] = useState({ search: '', ids: NONE, isOver: true });
  useEffect(() => {
    if (search === '') return;
    const stop = new AbortController();
    const read = async () => {
      const ids = new Set<string>();
      let cursor: string | undefined;
      do {
        const page: FoundPage = await get('executions', { batch, search, limit: PAGE, cursor }, stop.signal);
        for (const { id } of page.executions) ids.add(id);
        cursor = page.next_cursor ?? undefined;
        setFound({ search, ids: new Set(ids), isOver: cursor === undefined });
      } while (cursor !== undefined);
    };
    const timer = setTimeout(
      () =>
        void read().catch((error: unknown) => {
          if (!(error instanceof ApiError) && !stop.signal.aborted) throw error;
        }),
      SETTLE_MS,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [batch, search, rows]);
  if (search === '') return [NONE, true];
  return found.search === search ? [found.ids, found.isOver] : [NONE, false];
}
