import type { JSX } from 'preact';
import { spanText } from '../../../../src/core/words.ts';
import type { ExecutionDetail } from '../../api/wire.ts';
import { spendingText, timeText } from '../../model/text.ts';
import { now } from '../../ui/clock.ts';

/** What was asked of it. */
export function Facts({ detail }: { detail: ExecutionDetail }): JSX.Element {
  const time = (at: number | null) => (at === null ? '–' : timeText(at, now.value));
  const facts: readonly (readonly [string, string])[] = [
    ['Function', detail.function],
    ['Priority', detail.priority],
    ['Time limit', detail.timeout_ms === null ? 'of the tool' : spanText(detail.timeout_ms)],
    ['Retries', detail.max_retries === null ? 'of the tool' : `up to ${detail.max_retries}`],
    ['If a dependency fails', detail.on_dependency_failure],
    ['Added', time(detail.added_at)],
    ['Started', time(detail.started_at)],
    ['Ended', time(detail.ended_at)],
    ...(detail.worker === null ? [] : [['Worker', detail.worker] as const]),
    ...(detail.cached ? [['Result', 'from cache'] as const] : []),
    ...(detail.input_tokens === null ? [] : [['Models and agents', spendingText(detail)] as const]),
  ];
  return (
    <section>
      <h3>Facts</h3>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
