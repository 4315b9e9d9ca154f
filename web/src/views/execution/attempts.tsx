import type { JSX } from 'preact';
import type { AttemptDetail, ExecutionDetail } from '../../api/wire.ts';
import { durationText, timeText } from '../../model/text.ts';
import { now } from '../../ui/clock.ts';
import { StatusText } from '../../ui/icons.tsx';

/** Its tries, the newest first. */
export function Attempts({ detail }: { detail: ExecutionDetail }): JSX.Element | null {
  const { attempt_list: list } = detail;
  if (list.length === 0) return null;
  return (
    <section>
      <h3>Attempts</h3>
      <ol class="attempts">
        {list
          .toSorted((a, b) => b.attempt - a.attempt)
          .map((attempt) => (
            <li key={attempt.attempt}>
              <span class="attempt-number">{attempt.attempt}</span>
              <StatusText status={attempt.outcome === 'crashed' ? 'failed' : attempt.outcome} />
              <span class="quiet">{timeText(attempt.started_at, now.value)}</span>
              <span class="number">{lengthOf(attempt)}</span>
              {attempt.worker !== null && <p class="attempt-message">on {attempt.worker}</p>}
              {attempt.message !== null && <p class="attempt-message">{attempt.message}</p>}
            </li>
          ))}
      </ol>
    </section>
  );
}

function lengthOf({ started_at, ended_at, duration_ms }: AttemptDetail): string {
  const lengthMs = duration_ms ?? Math.max(0, (ended_at ?? now.value) - started_at);
  return durationText(lengthMs, ended_at === null);
}
