import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from '../api/http.ts';

const EVERY_MS = 2000;

/** What the server has under a path, read again every two seconds while the page is visible, and when asked to. */
export function usePolled<T>(
  path: string,
): [value: T | undefined, error: ApiError | undefined, again: () => void] {
  const [value, setValue] = useState<T>();
  const [error, setError] = useState<ApiError>();
  const readNow = useRef<() => void>(() => undefined);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const read = async () => {
      clearTimeout(timer);
      try {
        setValue(await get<T>(path, {}, stop.signal));
        setError(undefined);
      } catch (problem) {
        if (stop.signal.aborted) return;
        if (!(problem instanceof ApiError)) throw problem;
        setError(problem);
      }
      plan();
    };
    const plan = () => {
      timer = window.setTimeout(() => (document.hidden ? plan() : void read()), EVERY_MS);
    };
    readNow.current = () => void read();
    setValue(undefined);
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path]);
  const again = useCallback(() => readNow.current(), []);
  return [value, error, again];
}
