import { useEffect, useState } from 'preact/hooks';
import { ApiError, get } from '../../api/http.ts';
import type { Workers } from '../../api/wire.ts';

const EVERY_MS = 2000;

/** The workers, read again and again while the page is looked at. */
export function useWorkers(): [Workers | undefined, ApiError | undefined] {
  const [workers, setWorkers] = useState<Workers>();
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    document.title = 'Workers · Volley';
    const stop = new AbortController();
    let timer = 0;
    const read = async () => {
      try {
        if (!document.hidden) setWorkers(await get<Workers>('workers', {}, stop.signal));
        setError(undefined);
      } catch (problem) {
        if (stop.signal.aborted) return;
        if (!(problem instanceof ApiError)) throw problem;
        setError(problem);
      }
      timer = window.setTimeout(() => void read(), EVERY_MS);
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, []);
  return [workers, error];
}
