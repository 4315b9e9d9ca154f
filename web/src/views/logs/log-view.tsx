import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import type { LogLine } from '../../api/wire.ts';
import { sightOf, topOf } from '../../model/log.ts';
import type { Query } from '../../model/route.ts';
import { Icon } from '../../ui/icons.tsx';
import { setQuery } from '../../ui/route.ts';
import { useLog, useSearch } from './use-log.ts';

const ROW_HEIGHT = 18;
/** How far from the end a log still counts as scrolled to its end. */
const NEAR_END = 4;

interface LogProps {
  /** Where the server has it. */
  readonly path: string;
  /** Whether more may come. */
  readonly isGrowing: boolean;
  /** `attempt`, `find` and `line` of the address. */
  readonly query: Query;
}

/** What was printed and logged, of any length: only the lines in sight are read and drawn. */
export function LogView({ path, isGrowing, query }: LogProps): JSX.Element {
  const wanted = numberIn(query['attempt']);
  const { find = '' } = query;
  const log = useLog(path, wanted, isGrowing);
  const found = useSearch(path, log.attempt === 0 ? wanted : log.attempt, find);
  const [isFollowing, setFollowing] = useState(query['line'] === undefined);
  const { firstLine, endLine } = log.cache;
  const total = endLine - firstLine;
  return (
    <div class="log">
      <div class="log-tools">
        {log.attempts.length > 1 && (
          <select
            class="input"
            aria-label="Attempt"
            value={String(log.attempt)}
            onChange={(event) => setQuery({ attempt: event.currentTarget.value, line: undefined })}
          >
            {log.attempts.map((attempt) => (
              <option key={attempt} value={attempt}>
                Attempt {attempt}
              </option>
            ))}
          </select>
        )}
        <div class="search">
          <Icon name="search" />
          <input
            class="input"
            type="search"
            aria-label="Find in the log"
            placeholder="Find"
            value={find}
            onInput={(event) => setQuery({ find: event.currentTarget.value })}
          />
        </div>
        <label class="check" title="Show the newest lines as they come">
          <input
            type="checkbox"
            checked={isFollowing}
            disabled={find !== ''}
            onChange={(event) => {
              setFollowing(event.currentTarget.checked);
              if (event.currentTarget.checked) setQuery({ line: undefined });
            }}
          />
          Follow
        </label>
      </div>
      <p class="log-note quiet" role="status">
        {noteOf()}
      </p>
      {log.error !== undefined && (
        <p class="problem" role="alert">
          {log.error.text}
        </p>
      )}
      {find !== '' ? (
        <Rows
          key={`found ${find}`}
          label="Lines that were found"
          count={found?.lines.length ?? 0}
          row={(index) => found?.lines[index]}
          needle={find}
          jump={(line) => {
            setFollowing(false);
            setQuery({ find: undefined, line: String(line + 1) });
          }}
        />
      ) : (
        <Rows
          key={log.attempt}
          label="Log"
          count={total}
          row={(index) => log.cache.at(firstLine + index)}
          version={log.version}
          need={(from, to) => log.need(firstLine + from, firstLine + to)}
          start={startOf(query['line'], firstLine)}
          isFollowing={isFollowing}
          follow={setFollowing}
        />
      )}
    </div>
  );

  function noteOf(): string {
    if (find !== '') {
      if (found === undefined) return 'Searching…';
      const count = `${numberText(found.lines.length)} ${found.lines.length === 1 ? 'line' : 'lines'}`;
      if (found.state === 'cut') return `The first ${count}`;
      return found.state === 'searching' ? `${count} so far…` : count;
    }
    if (!log.isLoaded) return log.error === undefined ? 'Reading the log…' : '';
    if (endLine === 0) return isGrowing ? 'It has printed nothing yet.' : 'It has printed nothing.';
    const lines = `${numberText(total)} ${total === 1 ? 'line' : 'lines'}`;
    return firstLine === 0
      ? lines
      : `${lines}; the first ${numberText(firstLine)} were dropped, for the log reached its limit`;
  }
}

interface RowsProps {
  readonly label: string;
  readonly count: number;
  readonly row: (index: number) => LogLine | undefined;
  readonly version?: number;
  readonly need?: (from: number, to: number) => void;
  /** The first row in sight. */
  readonly start?: number | undefined;
  readonly isFollowing?: boolean;
  readonly follow?: (isFollowing: boolean) => void;
  readonly needle?: string;
  readonly jump?: (line: number) => void;
}

function Rows({
  label,
  count,
  row,
  need,
  start,
  isFollowing = false,
  follow,
  needle,
  jump,
  version,
}: RowsProps): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const [{ top, height }, setPlace] = useState({ top: 0, height: 400 });
  // Whether the next scroll comes from here and not from a person.
  const isOwn = useRef(false);
  const scrollTo = (to: number) => {
    const element = ref.current!;
    if (Math.abs(element.scrollTop - to) < 1) return;
    isOwn.current = true;
    element.scrollTop = to;
  };
  useEffect(() => {
    const element = ref.current!;
    const measure = () => setPlace({ top: element.scrollTop, height: element.clientHeight });
    const scrolled = () => {
      measure();
      const isAtEnd = element.scrollHeight - element.clientHeight - element.scrollTop < NEAR_END;
      if (!isOwn.current) follow?.(isAtEnd);
      isOwn.current = false;
    };
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    element.addEventListener('scroll', scrolled, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener('scroll', scrolled);
    };
  }, []);
  const sight = sightOf(count, ROW_HEIGHT, top, height);
  useLayoutEffect(() => {
    if (isFollowing) scrollTo(ref.current!.scrollHeight);
  }, [isFollowing, count, height]);
  useLayoutEffect(() => {
    if (start !== undefined && count > 0) scrollTo(topOf(start, count, ROW_HEIGHT, height));
  }, [start, count > 0]);
  useEffect(() => need?.(sight.first, sight.end), [sight.first, sight.end, count, version]);
  const rows: JSX.Element[] = [];
  for (let index = sight.first; index < sight.end; index++)
    rows.push(<Row key={index} line={row(index)} isStart={index === start} needle={needle} jump={jump} />);
  return (
    <section class="log-scroll" ref={ref} tabIndex={0} aria-label={label}>
      <div class="log-space" style={{ height: `${Math.max(1, sight.height)}px` }}>
        <div class="log-rows" style={{ transform: `translateY(${sight.offset}px)` }}>
          {rows}
        </div>
      </div>
    </section>
  );
}

interface RowProps {
  readonly line: LogLine | undefined;
  readonly isStart: boolean;
  readonly needle: string | undefined;
  readonly jump: ((line: number) => void) | undefined;
}

const STREAM_MARK = { stdout: ' ', stderr: '!', log: ' ', step: '»' } as const;
const STREAM_TEXT = { stdout: 'output', stderr: 'error output', log: 'log', step: 'step' } as const;

function Row({ line, isStart, needle, jump }: RowProps): JSX.Element {
  if (line === undefined) return <div class="log-row">…</div>;
  const number = String(line.line + 1);
  return (
    <div class={`log-row is-${line.stream}${isStart ? ' is-start' : ''}`}>
      {jump === undefined ? (
        <span class="log-number">{number}</span>
      ) : (
        <button
          type="button"
          class="log-number link"
          aria-label={`Show line ${number} in the log`}
          onClick={() => jump(line.line)}
        >
          {number}
        </button>
      )}
      <time class="log-time">{clockText(line.at)}</time>
      <span class="log-mark" title={STREAM_TEXT[line.stream]}>
        {STREAM_MARK[line.stream]}
      </span>
      <span class="log-text">{needle === undefined ? line.text : marked(line.text, needle)}</span>
    </div>
  );
}

function marked(text: string, needle: string): (JSX.Element | string)[] {
  const parts: (JSX.Element | string)[] = [];
  const lower = text.toLowerCase();
  // Where the case changes the length, no place in one is a place in the other.
  if (lower.length !== text.length) return [text];
  const sought = needle.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(sought); at >= 0 && parts.length < 100; at = lower.indexOf(sought, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + sought.length)}</mark>);
    from = at + sought.length;
  }
  return [...parts, text.slice(from)];
}

function clockText(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

function startOf(line: string | undefined, firstLine: number): number | undefined {
  const number = numberIn(line);
  return number === undefined ? undefined : Math.max(0, number - 1 - firstLine);
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}
