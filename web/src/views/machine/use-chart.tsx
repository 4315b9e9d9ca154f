import type { JSX } from 'preact';
import { percentText } from '../../../../src/cli/output/numbers.ts';
import { RESOURCE_TABLE } from '../../../../src/core/resource-table.ts';
import type { Statistics } from '../../api/wire.ts';

const WIDTH = 600;
const HEIGHT = 120;
/** The time that is shown grows with what there is. */
const SPANS_MIN = [1, 2, 5, 10];

const NAMES: Readonly<Record<string, string>> = {
  concurrency: 'Executions at once',
  ...Object.fromEntries(RESOURCE_TABLE.map(({ wireNeed, label }) => [wireNeed, label])),
};

/** One resource over ten minutes: how much executions claim, how much was measured, and the limit as a line. */
export function UseChart(props: {
  use: Statistics['use'][number];
  index: number;
  statistics: Statistics;
}): JSX.Element {
  const { use, index, statistics } = props;
  const { history, at } = statistics;
  const samples = history.map((sample) => ({ at: sample.at, used: sample.used[index] ?? 0 }));
  const field = MEASURED.find((one) => one === use.name);
  const now = field && statistics.measured?.[field];
  const seen = field === undefined ? [] : runsOf(history, field);
  const max = samples.reduce((top, { used }) => Math.max(top, used), use.used);
  const maxSeen = seen.flat().reduce((top, { used }) => Math.max(top, used), 0);
  const scale = Math.max(use.limit ?? 0, max, maxSeen, 1) * 1.08;
  const spanMin = SPANS_MIN.find((minutes) => at - (samples[0]?.at ?? at) <= minutes * 60_000) ?? 10;
  const x = (time: number) => WIDTH - ((at - time) / (spanMin * 60_000)) * WIDTH;
  const y = (used: number) => HEIGHT - (used / scale) * HEIGHT;
  const lineOf = (some: readonly Sample[]) =>
    some.map((sample) => `${x(sample.at).toFixed(1)} ${y(sample.used).toFixed(1)}`).join('L');
  const line = lineOf(samples);
  const first = samples[0];
  const name = NAMES[use.name] ?? use.name;
  const figures = use.limit === null ? round(use.used) : `${round(use.used)} of ${round(use.limit)}`;
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-name">{name}</span>
        <span class="chart-now">
          <b>{round(use.used)}</b> {field !== undefined && 'claimed '}
          {use.limit === null ? 'no limit' : `of ${round(use.limit)}`}{' '}
          {now == null && use.limit !== null && use.limit > 0 && (
            <small>{percentText(use.used / use.limit)}</small>
          )}
          {now != null && (
            <span class="chart-measured-now">
              {' '}
              <b>{round(now)}</b> measured
            </span>
          )}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: ${figures} in use now, at most ${round(max)} in the last ten minutes${now == null ? '' : `; ${round(now)} measured`}`}
      >
        {[0.25, 0.5, 0.75].map((part) => (
          <line key={part} class="chart-grid" x1={WIDTH * part} x2={WIDTH * part} y1={0} y2={HEIGHT} />
        ))}
        {first !== undefined && (
          <>
            <path class="chart-area" d={`M${x(first.at).toFixed(1)} ${HEIGHT}L${line}V${HEIGHT}Z`} />
            <path class="chart-line" d={`M${line}`} />
            {seen.map((run) => (
              <path key={run[0]!.at} class="chart-measured" d={`M${lineOf(run)}`} />
            ))}
          </>
        )}
        {use.limit !== null && (
          <line class="chart-limit" x1={0} x2={WIDTH} y1={y(use.limit)} y2={y(use.limit)} />
        )}
      </svg>
      <div class="chart-axis" aria-hidden="true">
        <span>{spanMin} min ago</span>
        <span>now</span>
      </div>
    </figure>
  );
}

interface Sample {
  readonly at: number;
  readonly used: number;
}

/** The resources of which the real use is measured. */
const MEASURED = ['cpu', 'memory_mb'] as const;

/** What was measured, in pieces without a gap. */
function runsOf(history: Statistics['history'], field: (typeof MEASURED)[number]): Sample[][] {
  const runs: Sample[][] = [];
  let isGap = true;
  for (const { at, measured } of history) {
    if (measured !== null) {
      if (isGap) runs.push([]);
      runs.at(-1)!.push({ at, used: measured[field] });
    }
    isGap = measured === null;
  }
  return runs;
}

function round(value: number): string {
  return Number(value.toFixed(value < 10 ? 1 : 0)).toLocaleString('en-GB');
}
