import type { Batch, Execution, TaskEvent } from '../../../web/src/api/wire.ts';
import type { Row } from '../../../web/src/model/row.ts';
import { reduce } from '../../../web/src/store/reduce.ts';
import { EMPTY, type Message, type State } from '../../../web/src/store/state.ts';

/** The row of a task as the server tells it: `execution('a', 1, { status: 'running' })`. */
export function execution(id: string, seq: number, rest: Partial<Execution> = {}): Execution {
  return {
    batch: 'b',
    id,
    seq,
    name: '',
    function: 'read_file',
    status: 'open',
    priority: 'normal',
    attempts: 0,
    depends_on: [],
    group_kind: null,
    group: null,
    index: null,
    added_at: 1000,
    started_at: null,
    ended_at: null,
    duration_ms: null,
    cached: false,
    worker: null,
    memory_mb: null,
    cpu_ms: null,
    input_tokens: null,
    output_tokens: null,
    cost_usd: null,
    progress: null,
    step: null,
    reason: null,
    code: null,
    message: null,
    cause: null,
    retry_at: null,
    ...rest,
  };
}

export function row(id: string, seq: number, rest: Partial<Row> = {}): Row {
  return { ...execution(id, seq, rest), tries: [], ...rest };
}

export function taskEvent(
  id: string,
  type: TaskEvent['type'],
  at: number,
  rest: Partial<TaskEvent> = {},
): Message {
  return { kind: 'task', data: { batch: 'b', id, seq: 1, type, attempt: 1, at, ...rest } };
}

export function batch(name: string, rest: Partial<Batch> = {}): Batch {
  return {
    batch: name,
    state: 'idle',
    counts: { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 },
    total: 0,
    cached: 0,
    succeeded: false,
    progress: 0,
    rate_per_second: null,
    time_left: null,
    max_concurrent: null,
    created_at: 1000,
    started_at: null,
    ended_at: null,
    holder: null,
    pauses: [],
    spending: null,
    problem: null,
    ...rest,
  };
}

/** The state of a page that shows batch `b` with these rows, all of them read. */
export function opened(...rows: readonly Execution[]): State {
  return reduce(EMPTY, [
    { kind: 'open', name: 'b' },
    { kind: 'rows', name: 'b', rows, isWhole: true },
    { kind: 'loaded', name: 'b' },
  ]);
}

/** The row of an id as the state has it. */
export function rowIn(state: State, id: string): Row {
  return state.open!.rows[state.open!.places.get(id)!]!;
}
