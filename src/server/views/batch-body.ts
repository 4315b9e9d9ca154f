import type { BatchView } from '../../batch/view.ts';
import type { BatchBody } from '../wire/batch.ts';

/** A batch as it leaves the server. */
export function batchBody(view: BatchView): BatchBody {
  const { timeLeft, holder } = view;
  return {
    batch: view.name,
    state: view.state,
    counts: view.counts,
    total: view.total,
    progress: view.progress,
    rate_per_second: view.ratePerSecond ?? null,
    time_left:
      timeLeft === undefined
        ? null
        : { low_ms: timeLeft.lowMs, expected_ms: timeLeft.expectedMs, high_ms: timeLeft.highMs },
    max_concurrent: view.maxConcurrency ?? null,
    created_at: view.createdAt,
    started_at: view.startedAt ?? null,
    ended_at: view.endedAt ?? null,
    holder:
      holder === undefined
        ? null
        : { pid: holder.pid, host: holder.host, since: holder.since, seen_at: holder.seenAt },
    problem: view.problem ?? null,
  };
}
