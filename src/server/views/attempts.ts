import type { AttemptRecord, TaskRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { AttemptBody } from '../wire/execution.ts';

/** The attempts of one execution, the oldest first. */
export async function attemptList(store: Store, { batch, id }: TaskRecord): Promise<AttemptBody[]> {
  return (await store.attemptsOf(batch, id)).map(attemptBody);
}

function attemptBody(record: AttemptRecord): AttemptBody {
  return {
    attempt: record.attempt,
    started_at: record.startedAt,
    ended_at: record.endedAt ?? null,
    duration_ms: record.durationMs ?? null,
    outcome: record.outcome,
    reason: record.reason ?? null,
    message: record.message ?? null,
  };
}
