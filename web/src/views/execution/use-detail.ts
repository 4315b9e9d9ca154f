import { useEffect, useState } from 'preact/hooks';
import { ApiError, executionPath, get } from '../../api/http.ts';
import { connection } from '../../api/live.ts';
import type { ExecutionDetail } from '../../api/wire.ts';
import type { Row } from '../../model/row.ts';
import { hasEnded } from '../../model/status.ts';

/** How soon after a change the rest is asked for: several changes at once are one question. */
const SETTLE_MS = 120;
/** Why something waits, for others or for its next try, changes without an event of its own. */
const WAITING_MS = 2000;

/** All about one execution, read again whenever its row says that something changed. */
export function useDetail(
  batch: string,
  id: string,
  row: Row | undefined,
): [ExecutionDetail | undefined, ApiError | undefined] {
  const [detail, setDetail] = useState<ExecutionDetail>();
  const [error, setError] = useState<ApiError>();
  const [round, setRound] = useState(0);
  const { state } = connection.value;
  const version = `${row?.status} ${row?.attempts} ${row?.retry_at} ${row?.ended_at}`;
  useEffect(() => {
    const stop = new AbortController();
    const read = async () => {
      try {
        setDetail(await get<ExecutionDetail>(executionPath(batch, id), {}, stop.signal));
        setError(undefined);
      } catch (problem) {
        if (problem instanceof ApiError) setError(problem);
        else if (!stop.signal.aborted) throw problem;
      }
    };
    const timer = setTimeout(() => void read(), detail === undefined ? 0 : SETTLE_MS);
    const isOver = row === undefined || hasEnded(row.status);
    const again = isOver ? undefined : setTimeout(() => setRound(round + 1), WAITING_MS);
    return () => {
      stop.abort();
      clearTimeout(timer);
      clearTimeout(again);
    };
  }, [batch, id, version, state, round]);
  return [detail, error];
}
