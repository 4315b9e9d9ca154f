import { describe, expect, test } from 'vitest';
import { reduce } from '../../web/src/store/reduce.ts';
import { EMPTY } from '../../web/src/store/state.ts';
import { batch, execution, opened, rowIn, taskEvent } from './support/state.ts';

describe('an execution on the page', () => {
  test('shows that its result came from the cache, until it runs again', () => {
    const cached = taskEvent('a', 'completed', 3000, { cached: true });
    const state = reduce(opened(execution('a', 1)), [taskEvent('a', 'started', 2000), cached]);
    expect(rowIn(state, 'a')).toMatchObject({ status: 'completed', cached: true });
    expect(rowIn(reduce(state, [taskEvent('a', 'started', 4000)]), 'a')).toMatchObject({ cached: false });
  });

  test('is followed through a failed attempt, the pause, and success', () => {
    let state = opened(execution('a', 1));
    state = reduce(state, [taskEvent('a', 'started', 2000)]);
    expect(rowIn(state, 'a')).toMatchObject({ status: 'running', attempts: 1, started_at: 2000 });
    state = reduce(state, [taskEvent('a', 'progress', 2100, { progress: 0.5, step: 'half' })]);
    expect(rowIn(state, 'a')).toMatchObject({ progress: 0.5, step: 'half' });
    state = reduce(state, [taskEvent('a', 'retrying', 2200, { reason: 'timeout', retry_in_ms: 500 })]);
    expect(rowIn(state, 'a')).toMatchObject({
      status: 'running',
      progress: null,
      reason: 'timeout',
      retry_at: 2700,
    });
    state = reduce(state, [
      taskEvent('a', 'started', 2700, { attempt: 2 }),
      taskEvent('a', 'completed', 3000, { attempt: 2 }),
    ]);
    expect(rowIn(state, 'a')).toMatchObject({
      status: 'completed',
      attempts: 2,
      started_at: 2000,
      ended_at: 3000,
      reason: null,
      retry_at: null,
      tries: [
        { attempt: 1, startedAt: 2000, endedAt: 2200, outcome: 'failed', worker: null },
        { attempt: 2, startedAt: 2700, endedAt: 3000, outcome: 'completed', worker: null },
      ],
    });
  });

  test('is open again after a retry by hand, with nothing left of its failure', () => {
    const failed = execution('a', 1, {
      status: 'failed',
      attempts: 1,
      ended_at: 9,
      reason: 'error',
      message: 'no',
    });
    const state = reduce(opened(failed), [taskEvent('a', 'opened', 5000)]);
    expect(rowIn(state, 'a')).toMatchObject({ status: 'open', ended_at: null, reason: null, message: null });
  });

  test('stands the same when the same events are told twice', () => {
    const events = [
      taskEvent('a', 'started', 2000),
      taskEvent('a', 'retrying', 2200, { retry_in_ms: 10 }),
      taskEvent('a', 'started', 2210, { attempt: 2 }),
      taskEvent('a', 'placed', 2211, { attempt: 2, worker: 'w' }),
      taskEvent('a', 'failed', 2300, { attempt: 2, reason: 'error' }),
    ];
    const once = reduce(opened(execution('a', 1)), events);
    expect(reduce(once, events).open!.rows).toEqual(once.open!.rows);
  });

  test('takes the tries that were read in place of those it saw', () => {
    const state = reduce(opened(execution('a', 1)), [
      taskEvent('a', 'started', 2005, { attempt: 2 }),
      {
        kind: 'attempts',
        name: 'b',
        attempts: [
          {
            id: 'a',
            attempt: 1,
            started_at: 1000,
            ended_at: 1500,
            duration_ms: null,
            outcome: 'crashed',
            worker: 'w',
          },
          {
            id: 'a',
            attempt: 2,
            started_at: 2000,
            ended_at: null,
            duration_ms: null,
            outcome: 'running',
            worker: null,
          },
          {
            id: 'gone',
            attempt: 1,
            started_at: 1,
            ended_at: 2,
            duration_ms: null,
            outcome: 'completed',
            worker: null,
          },
        ],
      },
    ]);
    expect(rowIn(state, 'a').tries).toEqual([
      { attempt: 1, startedAt: 1000, endedAt: 1500, outcome: 'crashed', worker: 'w' },
      { attempt: 2, startedAt: 2000, endedAt: null, outcome: 'running', worker: null },
    ]);
  });
});

describe('a task that was added again after its batch was cleared', () => {
  test('has nothing of the tries of the former one', () => {
    const before = reduce(opened(execution('a', 1)), [taskEvent('a', 'started', 2000)]);
    const read = (added_at: number) => {
      const rows = [execution('a', 1, { added_at })];
      return rowIn(reduce(before, [{ kind: 'rows', name: 'b', rows, isWhole: true }]), 'a').tries;
    };
    expect(read(1000)).toHaveLength(1);
    expect(read(3000)).toEqual([]);
  });
});

describe('what must be read again', () => {
  test('is the tail after tasks were added, and after an event of an unknown task', () => {
    const state = opened(execution('a', 1));
    const added = { kind: 'added', data: { batch: 'b', from_seq: 2, to_seq: 3, at: 1 } } as const;
    expect(reduce(state, [added]).open!.missing).toBe('tail');
    expect(reduce(state, [taskEvent('new', 'started', 1)]).open!.missing).toBe('tail');
  });

  test('is everything after a gap, and a later addition does not make that less', () => {
    const state = reduce(opened(execution('a', 1)), [
      { kind: 'gap', data: { missed: 7 } },
      { kind: 'added', data: { batch: 'b', from_seq: 2, to_seq: 2, at: 1 } },
    ]);
    expect(state).toMatchObject({ open: { missing: 'all' }, isListStale: true });
    expect(reduce(state, [{ kind: 'reading' }]).open!.missing).toBe('none');
  });

  test('is everything after the batch was cleared, and nothing after another one was', () => {
    const state = opened(execution('a', 1));
    expect(reduce(state, [{ kind: 'cleared', data: { batch: 'b', at: 1 } }]).open!.missing).toBe('all');
    expect(reduce(state, [{ kind: 'cleared', data: { batch: 'x', at: 1 } }]).open!.missing).toBe('none');
  });

  test('is everything while another process runs the batch, and where a batch at rest has other counts', () => {
    const state = opened(execution('a', 1, { status: 'running' }));
    const counts = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
    const missingAfter = (rest: Parameters<typeof batch>[1], name = 'b') =>
      reduce(state, [{ kind: 'batch', data: batch(name, rest) }]).open!.missing;
    expect(missingAfter({ state: 'elsewhere', counts: { ...counts, running: 1 } })).toBe('all');
    expect(missingAfter({ state: 'idle', counts: { ...counts, completed: 1 } })).toBe('all');
    expect(missingAfter({ state: 'idle', counts: { ...counts, running: 1, open: 1 } })).toBe('all');
    expect(missingAfter({ state: 'idle', counts: { ...counts, running: 1 } })).toBe('none');
    expect(missingAfter({ state: 'running', counts: { ...counts, completed: 1 } })).toBe('none');
    expect(missingAfter({ state: 'idle' }, 'another')).toBe('none');
  });

  test('is everything where the batch had moved on before all rows were there, once', () => {
    const loaded = { kind: 'loaded', name: 'b' } as const;
    const read = reduce(EMPTY, [
      { kind: 'open', name: 'b' },
      { kind: 'rows', name: 'b', rows: [execution('a', 1)], isWhole: false },
      { kind: 'batch', data: batch('b', { counts: { ...batch('b').counts, completed: 1 } }) },
      loaded,
    ]);
    expect(read.open!.missing).toBe('all');
    expect(reduce(read, [{ kind: 'reading' }, loaded]).open!.missing).toBe('none');
  });

  test('is nothing for events of rows that are just being read for the first time', () => {
    const state = reduce(EMPTY, [{ kind: 'open', name: 'b' }, taskEvent('a', 'started', 1)]);
    expect(state.open).toMatchObject({ missing: 'none', rows: [] });
  });
});

describe('rows that were read', () => {
  test('come in pages in any order and stand in the order in which they were added', () => {
    const state = reduce(EMPTY, [
      { kind: 'open', name: 'b' },
      { kind: 'rows', name: 'b', rows: [execution('c', 3), execution('b', 2)], isWhole: false },
      {
        kind: 'rows',
        name: 'b',
        rows: [execution('a', 1), execution('b', 2, { status: 'failed' })],
        isWhole: false,
      },
    ]);
    expect(state.open!.rows.map(({ id, status }) => [id, status])).toEqual([
      ['a', 'open'],
      ['b', 'failed'],
      ['c', 'open'],
    ]);
  });

  test('replace all others when they are the whole', () => {
    const state = reduce(opened(execution('a', 1), execution('b', 2)), [
      { kind: 'rows', name: 'b', rows: [execution('b', 2)], isWhole: true },
    ]);
    expect([...state.open!.places]).toEqual([['b', 0]]);
  });

  test('do not undo an event that is told again behind them', () => {
    const state = reduce(opened(execution('a', 1)), [
      taskEvent('a', 'started', 2000),
      { kind: 'rows', name: 'b', rows: [execution('a', 1)], isWhole: true },
      taskEvent('a', 'started', 2000),
    ]);
    expect(rowIn(state, 'a').status).toBe('running');
  });

  test('of a batch that was left meanwhile change nothing', () => {
    const state = reduce(opened(execution('a', 1)), [{ kind: 'open', name: 'other' }]);
    const rows = [execution('z', 1)];
    expect(reduce(state, [{ kind: 'rows', name: 'b', rows, isWhole: true }])).toEqual(state);
  });
});

describe('the state', () => {
  test('is never changed in place', () => {
    const before = opened(execution('a', 1));
    const copy = structuredClone(before);
    reduce(before, [taskEvent('a', 'started', 1), { kind: 'batch', data: batch('b', { total: 1 }) }]);
    expect(before).toEqual(copy);
  });

  test('keeps the places of rows as one object while rows only change', () => {
    const before = opened(execution('a', 1));
    const { places } = before.open!;
    expect(reduce(before, [taskEvent('a', 'started', 1)]).open!.places).toBe(places);
    const read = (...ids: string[]) => {
      const rows = ids.map((id, place) => execution(id, place + 1, { status: 'completed' }));
      return reduce(before, [{ kind: 'rows', name: 'b', rows, isWhole: true }]).open!;
    };
    expect(read('a').places).toBe(places);
    expect(read('a').rows[0]!.status).toBe('completed');
    expect([...read('a', 'b').places]).toEqual([
      ['a', 0],
      ['b', 1],
    ]);
    expect([...read('b').places]).toEqual([['b', 0]]);
  });

  test('has the batches of the list, of snapshots and of events', () => {
    const state = reduce(EMPTY, [
      { kind: 'list', batches: [batch('old')], isWhole: true },
      { kind: 'snapshot', data: { batches: [batch('b', { total: 2 })] } },
      { kind: 'batch', data: batch('old', { state: 'running' }) },
    ]);
    expect([...state.batches.values()]).toMatchObject([
      { batch: 'old', state: 'running' },
      { batch: 'b', total: 2 },
    ]);
    expect(reduce(state, [{ kind: 'list', batches: [], isWhole: true }]).batches.size).toBe(0);
  });
});
