import type { BatchAttempt, Execution, TaskEvent } from '../api/wire.ts';
import type { Row, Try } from '../model/row.ts';

/** A row as the server tells it, with the tries that are known of it: of this task, not of one that had its id before. */
export function rowOf(execution: Execution, known: Row | undefined): Row {
  return { ...execution, tries: known?.added_at === execution.added_at ? known.tries : [] };
}

/** What an event makes of a row. Applied twice it changes nothing more. */
export function afterEvent(row: Row, event: TaskEvent): Row {
  switch (event.type) {
    case 'started':
      return {
        ...row,
        status: 'running',
        attempts: Math.max(row.attempts, event.attempt),
        started_at: row.started_at ?? event.at,
        ...NOT_ENDED,
        worker: null,
        tries: begin(row.tries, event),
      };
    case 'placed':
      return { ...row, worker: event.worker ?? null, tries: place(row.tries, event) };
    case 'progress':
      return { ...row, progress: event.progress ?? row.progress, step: event.step ?? row.step };
    case 'retrying':
      return {
        ...row,
        progress: null,
        step: null,
        reason: event.reason ?? null,
        retry_at: event.at + (event.retry_in_ms ?? 0),
        tries: end(row.tries, event, 'failed'),
      };
    case 'opened':
      return { ...row, status: 'open', started_at: null, worker: null, ...NOT_ENDED };
    case 'skipped':
      return {
        ...row,
        status: 'skipped',
        ended_at: event.at,
        duration_ms: null,
        cause: event.cause ?? null,
        code: event.code ?? null,
        retry_at: null,
      };
    default:
      return {
        ...row,
        status: event.type,
        ended_at: event.at,
        duration_ms: null,
        cached: event.cached ?? false,
        reason: event.reason ?? null,
        progress: null,
        step: null,
        retry_at: null,
        tries: end(row.tries, event, event.type),
      };
  }
}

const NOT_ENDED = {
  ended_at: null,
  duration_ms: null,
  cached: false,
  progress: null,
  step: null,
  reason: null,
  code: null,
  message: null,
  cause: null,
  retry_at: null,
} as const;

/** Tries that were read stand in for those that were seen. */
export function withTry(
  row: Row,
  { attempt, started_at, ended_at, duration_ms, outcome, worker }: BatchAttempt,
): Row {
  // The clock may have been set between the two moments.
  const endedAt = ended_at === null || duration_ms === null ? ended_at : started_at + duration_ms;
  const read: Try = { attempt, startedAt: started_at, endedAt, outcome, worker };
  const others = row.tries.filter((one) => one.attempt !== attempt);
  return { ...row, tries: [...others, read].sort((a, b) => a.attempt - b.attempt) };
}

function begin(tries: readonly Try[], { attempt, at }: TaskEvent): readonly Try[] {
  const known = tries.find((one) => one.attempt === attempt);
  if (known !== undefined && (known.endedAt === null || known.endedAt > at)) return tries;
  const others = tries.filter((one) => one !== known);
  return [...others, { attempt, startedAt: at, endedAt: null, outcome: 'running', worker: null }];
}

function place(tries: readonly Try[], { attempt, worker = '' }: TaskEvent): readonly Try[] {
  return tries.map((one) => (one.attempt === attempt ? { ...one, worker } : one));
}

function end(tries: readonly Try[], event: TaskEvent, outcome: Try['outcome']): readonly Try[] {
  const last = tries.at(-1);
  if (last === undefined || last.endedAt !== null) return tries;
  return [...tries.slice(0, -1), { ...last, endedAt: event.at, outcome }];
}
