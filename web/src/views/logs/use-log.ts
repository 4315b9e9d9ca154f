import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from '../../api/http.ts';
import type { Log, LogLine } from '../../api/wire.ts';
import { BLOCK_LINES, LogCache } from '../../model/log.ts';

const POLL_MS = 1000;
/** More lines that contain the search string are not listed. */
const MAX_FOUND = 2000;

export interface ReadLog {
  /** Changes with whatever was read. */
  readonly version: number;
  readonly cache: LogCache;
  readonly attempt: number;
  readonly attempts: readonly number[];
  readonly isLoaded: boolean;
  readonly error: ApiError | undefined;
  /** Reads these lines, unless they are there. */
  need(from: number, to: number): void;
}

/** One attempt's log, read where it is looked at. While it grows, its end is read every second. */
export function useLog(path: string, wanted: number | undefined, isGrowing: boolean): ReadLog {
  const [version, setVersion] = useState(0);
  const [error, setError] = useState<ApiError>();
  const [head, setHead] = useState<Pick<Log, 'attempt' | 'attempts'>>({ attempt: 0, attempts: [] });
  const [isLoaded, setLoaded] = useState(false);
  const log = useRef({ cache: new LogCache(), attempt: 0, isReading: false, stop: new AbortController() });

  const read = async (query: { from?: number | undefined; limit?: number }): Promise<Log | undefined> => {
    const { current } = log;
    const { signal } = current.stop;
    try {
      const answer = await get<Log>(
        path,
        { ...query, attempt: wanted, limit: query.limit ?? BLOCK_LINES },
        signal,
      );
      if (signal.aborted) return undefined;
      // Without a number, the last attempt is meant, and there may be a new one.
      if (answer.attempt !== current.attempt) {
        current.cache = new LogCache();
        current.attempt = answer.attempt;
      }
      current.cache.add(answer);
      setHead((before) =>
        sameHead(before, answer) ? before : { attempt: answer.attempt, attempts: answer.attempts },
      );
      setError(undefined);
      setLoaded(true);
      setVersion((before) => before + 1);
      return answer;
    } catch (problem) {
      if (signal.aborted) return undefined;
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      return undefined;
    }
  };

  useEffect(() => {
    log.current = { cache: new LogCache(), attempt: 0, isReading: false, stop: new AbortController() };
    setLoaded(false);
    void read({});
    return () => log.current.stop.abort();
  }, [path, wanted]);

  useEffect(() => {
    let timer = 0;
    const { stop } = log.current;
    const poll = async () => {
      if (stop.signal.aborted) return;
      if (!document.hidden) {
        const { cache, attempt } = log.current;
        await read(attempt === 0 ? {} : { from: cache.endLine });
      }
      timer = window.setTimeout(() => void poll(), POLL_MS);
    };
    // Once more when it has ended, for its last lines.
    if (isGrowing) timer = window.setTimeout(() => void poll(), POLL_MS);
    else if (log.current.attempt !== 0) void read({ from: log.current.cache.endLine });
    return () => clearTimeout(timer);
  }, [path, wanted, isGrowing]);

  const need = async (from: number, to: number): Promise<void> => {
    const { current } = log;
    if (current.isReading || current.attempt === 0) return;
    const missing = current.cache.missing(from, to);
    if (missing === undefined) return;
    current.isReading = true;
    await read({ from: missing });
    current.isReading = false;
  };
  const { cache } = log.current;
  return { version, cache, ...head, isLoaded, error, need: (from, to) => void need(from, to) };
}

function sameHead(a: Pick<Log, 'attempt' | 'attempts'>, b: Pick<Log, 'attempt' | 'attempts'>): boolean {
  return a.attempt === b.attempt && a.attempts.length === b.attempts.length;
}

export interface Found {
  readonly lines: readonly LogLine[];
  readonly state: 'searching' | 'whole' | 'cut';
}

/** The lines that contain a string, as the server finds them, part by part. */
export function useSearch(path: string, attempt: number | undefined, text: string): Found | undefined {
  const [found, setFound] = useState<Found>();
  useEffect(() => {
    setFound(undefined);
    if (text === '') return;
    const stop = new AbortController();
    const search = async () => {
      const lines: LogLine[] = [];
      let from: number | undefined;
      do {
        const query = { attempt, from, search: text, limit: BLOCK_LINES };
        const answer = await get<Log>(path, query, stop.signal);
        lines.push(...answer.lines);
        from = answer.next < answer.end_line ? answer.next : undefined;
        const isCut = lines.length >= MAX_FOUND && from !== undefined;
        setFound({ lines: [...lines], state: isCut ? 'cut' : from === undefined ? 'whole' : 'searching' });
        if (isCut) return;
      } while (from !== undefined);
    };
    // While somebody types, only the last text counts.
    const timer = setTimeout(() => {
      search().catch((problem: unknown) => {
        if (!stop.signal.aborted) setFound({ lines: [], state: 'whole' });
        if (!(problem instanceof ApiError) && !stop.signal.aborted) throw problem;
      });
    }, 250);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, attempt, text]);
  return found;
}
