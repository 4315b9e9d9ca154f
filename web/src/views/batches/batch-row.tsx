import type { JSX } from 'preact';
import { numberText, percentText, rateText, timeRangeText } from '../../../../src/cli/output/numbers.ts';
import type { Batch } from '../../api/wire.ts';
import { countsText } from '../../model/counts.ts';
import { batchHash } from '../../model/route.ts';
import { agoText, BATCH_STATE_TEXT, batchState, durationText, runLength } from '../../model/text.ts';
import { now } from '../../ui/clock.ts';
import { ProgressBar } from '../../ui/progress-bar.tsx';

export function BatchRow(props: {
  batch: Batch;
  isSelected: boolean;
  /** Undefined where nothing can be done with what is selected. */
  select: ((isSelected: boolean) => void) | undefined;
}): JSX.Element {
  const { batch, isSelected, select } = props;
  const { counts, time_left, rate_per_second } = batch;
  const state = batchState(batch);
  const isIdle = batch.state === 'idle';
  const runMs = runLength(batch, isIdle ? 0 : now.value);
  return (
    <tr class={isSelected ? 'is-selected' : undefined}>
      {select !== undefined && (
        <td class="batches-select">
          <input
            type="checkbox"
            aria-label={`Select ${batch.batch}`}
            checked={isSelected}
            onChange={(event) => select(event.currentTarget.checked)}
          />
        </td>
      )}
      <th scope="row">
        <a href={batchHash(batch.batch)}>{batch.batch}</a>
      </th>
      <td>
        <span class={`tag is-${state}`}>{BATCH_STATE_TEXT[state]}</span>
      </td>
      <td class="batches-progress">
        <ProgressBar batch={batch} isSmall />
        <span class="batches-figures">
          <strong>{percentText(batch.progress)}</strong> {countsText(counts)}
        </span>
      </td>
      <td class={counts.failed > 0 ? 'number is-failed' : 'number quiet'} data-label="failed">
        {counts.failed > 0 ? numberText(counts.failed) : '–'}
      </td>
      <td class="number" data-before={isIdle ? 'took' : 'for'}>
        {runMs === undefined ? <span class="quiet">–</span> : durationText(runMs, !isIdle)}
      </td>
      <td data-label="left">
        {time_left === null ? (
          <span class="quiet">–</span>
        ) : (
          timeRangeText({ lowMs: time_left.low_ms, highMs: time_left.high_ms })
        )}
        {rate_per_second ? <small class="quiet batches-rate"> {rateText(rate_per_second)}</small> : null}
      </td>
      <td class="quiet" data-before="added">
        {agoText(batch.created_at, now.value)}
      </td>
    </tr>
  );
}
