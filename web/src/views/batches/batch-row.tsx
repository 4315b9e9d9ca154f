import type { JSX } from 'preact';
import { numberText, percentText, rateText, timeRangeText } from '../../../../src/cli/output/numbers.ts';
import type { Batch } from '../../api/wire.ts';
import { batchHash } from '../../model/route.ts';
import { agoText, BATCH_STATE_TEXT, batchState } from '../../model/text.ts';
import { now } from '../../ui/clock.ts';
import { ProgressBar } from '../../ui/progress-bar.tsx';

export function BatchRow({ batch }: { batch: Batch }): JSX.Element {
  const { counts, total, time_left, rate_per_second } = batch;
  const done = total - counts.open - counts.running;
  const state = batchState(batch);
  return (
    <tr>
      <th scope="row">
        <a href={batchHash(batch.batch)}>{batch.batch}</a>
      </th>
      <td>
        <span class={`tag is-${state}`}>{BATCH_STATE_TEXT[state]}</span>
      </td>
      <td class="batches-progress">
        <ProgressBar batch={batch} isSmall />
        <span class="batches-figures">
          <strong>{percentText(batch.progress)}</strong> {numberText(done)} of {numberText(total)}
        </span>
      </td>
      <td class={counts.failed > 0 ? 'number is-failed' : 'number quiet'} data-label="failed">
        {counts.failed > 0 ? numberText(counts.failed) : '–'}
      </td>
      <td class="number">{rate_per_second ? rateText(rate_per_second) : <span class="quiet">–</span>}</td>
      <td data-label="left">
        {time_left === null ? (
          <span class="quiet">–</span>
        ) : (
          timeRangeText({ lowMs: time_left.low_ms, highMs: time_left.high_ms })
        )}
      </td>
      <td class="quiet" data-before="added">
        {agoText(batch.created_at, now.value)}
      </td>
    </tr>
  );
}
