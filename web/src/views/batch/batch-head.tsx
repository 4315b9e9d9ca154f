import type { ComponentChildren, JSX } from 'preact';
import { numberText, percentText, rateText, timeRangeText } from '../../../../src/cli/output/numbers.ts';
import { countText, spanText } from '../../../../src/core/words.ts';
import type { Batch } from '../../api/wire.ts';
import { runningShare } from '../../model/counts.ts';
import { STATUS_TEXT, STATUSES } from '../../model/status.ts';
import { BATCH_STATE_TEXT, batchState, durationText, runLength, spendingText } from '../../model/text.ts';
import { now } from '../../ui/clock.ts';
import { StatusIcon } from '../../ui/icons.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { BatchActions } from './batch-actions.tsx';

/** The name of a batch, what can be done with it, and how far it is. `groups` that run only wait for their items. */
export function BatchHead(props: { batch: Batch; groups: number; add: () => void }): JSX.Element {
  const { batch, groups, add } = props;
  const state = batchState(batch);
  const { counts, total, holder, problem } = batch;
  const isIdle = batch.state === 'idle';
  const runMs = runLength(batch, isIdle ? 0 : now.value);
  return (
    <section class="batch-head" aria-label="State of the batch">
      <div class="batch-title">
        <h1 class="page-title">{batch.batch}</h1>
        <span class={`tag is-${state}`}>{BATCH_STATE_TEXT[state]}</span>
        <span class="spring" />
        <BatchActions batch={batch} add={add} />
      </div>
      {holder !== null && (
        <p class="quiet">
          Process {holder.pid} on {holder.host} runs this batch.
        </p>
      )}
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <ProgressBar batch={batch} />
      <Counts batch={batch} />
      <dl class="figures">
        <Figure name="Done">
          <strong>{percentText(batch.progress)}</strong>
          <small>
            {numberText(counts.completed)} of {numberText(total)}
            {batch.cached > 0 && `, ${numberText(batch.cached)} from cache`}
          </small>
        </Figure>
        <Figure name="Rate">
          {batch.rate_per_second ? rateText(batch.rate_per_second) : <span class="quiet">–</span>}
        </Figure>
        <Figure name="Time left">
          <TimeLeft batch={batch} />
        </Figure>
        <Figure name={isIdle ? 'Last run' : 'This run'}>
          {runMs === undefined ? <span class="quiet">–</span> : durationText(runMs, !isIdle)}
        </Figure>
        <Figure name="Concurrency">
          {isIdle ? <span class="quiet">–</span> : numberText(Math.max(0, counts.running - groups))}
          {batch.max_concurrent !== null && <small>of {numberText(batch.max_concurrent)}</small>}
        </Figure>
        {batch.spending !== null && (
          <Figure name="Models and agents">
            {spendingText(batch.spending)}
            <small>{countText(batch.spending.calls, 'call')}</small>
          </Figure>
        )}
      </dl>
    </section>
  );
}

/** How many have each status, and how far the running ones are. */
function Counts({ batch }: { batch: Batch }): JSX.Element {
  const { counts } = batch;
  const share = runningShare(batch);
  return (
    <ul class="counts" aria-label="Tasks by status">
      {STATUSES.filter((status) => counts[status] > 0).map((status) => (
        <li key={status}>
          <StatusIcon status={status} /> <b>{numberText(counts[status])}</b>{' '}
          {STATUS_TEXT[status].toLowerCase()}
          {status === 'running' && share > 0 && <span class="quiet"> ({percentText(share)} through)</span>}
        </li>
      ))}
    </ul>
  );
}

function Figure({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function TimeLeft({ batch: { time_left } }: { batch: Batch }): JSX.Element {
  if (time_left === null) return <span class="quiet">–</span>;
  const { low_ms, expected_ms, high_ms } = time_left;
  const range = timeRangeText({ lowMs: low_ms, highMs: high_ms });
  return (
    <>
      {spanText(Math.max(1, Math.round(expected_ms / 1000)) * 1000)}
      {/* One that has no width says the same once more, rounded. */}
      {!range.startsWith('about') && <small>{range}</small>}
    </>
  );
}
