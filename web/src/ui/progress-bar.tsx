import type { JSX } from 'preact';
import { percentText } from '../../../src/cli/output/numbers.ts';
import type { Batch } from '../api/wire.ts';
import { countsText, runningShare } from '../model/counts.ts';
import { STATUSES } from '../model/status.ts';

/**
 * How a batch stands as one bar: a part for each status, in the order in which work gets done. The part of
 * running tasks that is done is darker.
 */
export function ProgressBar({ batch, isSmall }: { batch: Batch; isSmall?: boolean }): JSX.Element {
  const { counts, total, progress } = batch;
  const parts = STATUSES.filter((status) => counts[status] > 0 && status !== 'open');
  const text = countsText(counts);
  return (
    <div
      class={isSmall ? 'bar is-small' : 'bar'}
      role="progressbar"
      aria-label={`Progress of ${batch.batch}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(progress * 100)}
      aria-valuetext={`${percentText(progress)} done${text === '' ? '' : `: ${text}`}`}
      title={text}
    >
      {parts.map((status) => (
        <div
          key={status}
          class={`bar-part is-${status}`}
          style={{ width: `${(counts[status] / total) * 100}%` }}
        >
          {status === 'running' && <div style={{ width: `${runningShare(batch) * 100}%` }} />}
        </div>
      ))}
    </div>
  );
}
