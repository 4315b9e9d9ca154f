import type { JSX } from 'preact';
import { numberText, percentText } from '../../../../src/cli/output/numbers.ts';
import { spanText } from '../../../../src/core/words.ts';
import type { Statistics } from '../../api/wire.ts';
import { Icon } from '../../ui/icons.tsx';
import { setQuery } from '../../ui/route.ts';

/** One function: how its executions went, and what they used next to what they claim. */
type Line = Statistics['functions'][number] & { readonly usage: Statistics['usage'][number] | undefined };

interface Column {
  readonly key: string;
  readonly text: string;
  readonly title?: string;
  /** What it is sorted by, the largest first. */
  readonly value: (line: Line) => number | string;
  readonly show: (line: Line) => string;
}

const runsOf = ({ completed, failed }: Line) => completed + failed;
const failedShare = (line: Line) => (runsOf(line) === 0 ? 0 : line.failed / runsOf(line));

const COLUMNS: readonly Column[] = [
  { key: 'function', text: 'Function', value: (line) => line.function, show: (line) => line.function },
  { key: 'runs', text: 'Runs', value: runsOf, show: (line) => numberText(runsOf(line)) },
  {
    key: 'failed',
    text: 'Failed',
    value: failedShare,
    show: (line) =>
      line.failed === 0 ? '–' : `${numberText(line.failed)} (${percentText(failedShare(line))})`,
  },
  {
    key: 'retries',
    text: 'Retries',
    value: ({ retries }) => retries,
    show: ({ retries }) => (retries === 0 ? '–' : numberText(retries)),
  },
  {
    key: 'p50',
    text: 'Median',
    value: ({ duration_ms }) => duration_ms?.p50 ?? -1,
    show: ({ duration_ms }) => (duration_ms === null ? '–' : spanText(duration_ms.p50)),
  },
  {
    key: 'p95',
    text: '95 of 100 within',
    value: ({ duration_ms }) => duration_ms?.p95 ?? -1,
    show: ({ duration_ms }) => (duration_ms === null ? '–' : spanText(duration_ms.p95)),
  },
  {
    key: 'cpu',
    text: 'Cores, of claimed',
    title: 'What 95 of 100 calls in processes used at most, of what they claim',
    value: ({ usage }) => usage?.cpu?.p95 ?? -1,
    show: ({ usage }) => usedText(usage?.cpu?.p95, usage?.claimed?.cpu, 1),
  },
  {
    key: 'memory',
    text: 'MB, of claimed',
    title: 'The peak that 95 of 100 calls in processes stayed within, of what they claim',
    value: ({ usage }) => usage?.memory_mb?.p95 ?? -1,
    show: ({ usage }) => usedText(usage?.memory_mb?.p95, usage?.claimed?.memory_mb, 0),
  },
];

/** How the executions of each function went since the server started. */
export function FunctionTable(props: {
  statistics: Statistics;
  /** The key of a column, with `-` for the smallest first. */
  sort: string | undefined;
}): JSX.Element | null {
  const { statistics, sort = 'runs' } = props;
  const { functions, usage } = statistics;
  if (functions.length === 0) return null;
  const usageOf = new Map(usage.map((one) => [one.function, one]));
  const column = COLUMNS.find(({ key }) => key === sort.replace(/^-/, '')) ?? COLUMNS[1]!;
  const sign = sort.startsWith('-') !== (column.key === 'function') ? 1 : -1;
  const lines = functions
    .map((one): Line => ({ ...one, usage: usageOf.get(one.function) }))
    .sort((a, b) => sign * compare(column.value(a), column.value(b)));
  return (
    <section class="functions" aria-label="Functions" tabIndex={0}>
      <table>
        <caption>Functions since the server started</caption>
        <thead>
          <tr>
            {COLUMNS.map(({ key, text, title }) => {
              const isSorted = key === column.key;
              return (
                <th
                  key={key}
                  scope="col"
                  title={title}
                  class={key === 'function' ? undefined : 'number'}
                  aria-sort={isSorted ? (sign === 1 ? 'ascending' : 'descending') : 'none'}
                >
                  <button
                    type="button"
                    class="sort"
                    onClick={() => setQuery({ sort: isSorted && !sort.startsWith('-') ? `-${key}` : key })}
                  >
                    {text}
                    {isSorted && <Icon name={sign === 1 ? 'up' : 'down'} />}
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.function}>
              <th scope="row" title={line.function}>
                {line.function}
              </th>
              {COLUMNS.slice(1).map(({ key, show }) => (
                <td key={key} class={key === 'failed' && line.failed > 0 ? 'number is-failed' : 'number'}>
                  {show(line)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** `0.8 of 2`; what is not claimed follows what was measured. */
function usedText(used: number | undefined, claimed: number | undefined, digits: number): string {
  if (used === undefined) return '–';
  const text = String(Number(used.toFixed(digits)));
  return claimed === undefined ? text : `${text} of ${Number(claimed.toFixed(digits))}`;
}

function compare(a: number | string, b: number | string): number {
  return typeof a === 'string' ? a.localeCompare(String(b)) : a - Number(b);
}
