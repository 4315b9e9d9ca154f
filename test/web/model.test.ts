import { describe, expect, test } from 'vitest';
import type { Batch } from '../../web/src/api/wire.ts';
import { layOutGraph } from '../../web/src/graph/layout.ts';
import { neighbour } from '../../web/src/graph/neighbours.ts';
import { criticalPath } from '../../web/src/model/critical-path.ts';
import { countItems, doneText } from '../../web/src/model/groups.ts';
import {
  arrange,
  byUrgency,
  type Filter,
  NO_FILTER,
  type Order,
  tableOf,
  tableQuery,
} from '../../web/src/model/order.ts';
import { hashOf, listOf, listText, routeOf, withQuery } from '../../web/src/model/route.ts';
import { batchState, runLength } from '../../web/src/model/text.ts';
import { spansOf } from '../../web/src/timeline/spans.ts';
import { batchIn } from '../../web/src/views/add/pasted.ts';
import { emptyValue, fieldOf, numberIn, valueIn } from '../../web/src/views/add/schema-fields.ts';
import { batch, row } from './support/state.ts';

describe('the table', () => {
  const rows = [
    row('a-10', 1, { status: 'completed', started_at: 0, ended_at: 5 }),
    row('a-2', 2, { status: 'failed', name: 'Second', function: 'write_file' }),
    row('b', 3, { status: 'running', started_at: 10 }),
  ];
  const ids = (places: readonly number[]) => places.map((place) => rows[place]!.id);

  test('is filtered by status, function and a part of id or name', () => {
    const bySeq = { key: 'seq', isDescending: false } as const;
    expect(ids(arrange(rows, { ...NO_FILTER, statuses: new Set(['failed', 'running']) }, bySeq, 0))).toEqual([
      'a-2',
      'b',
    ]);
    expect(ids(arrange(rows, { ...NO_FILTER, function: 'write_file' }, bySeq, 0))).toEqual(['a-2']);
    expect(ids(arrange(rows, { ...NO_FILTER, search: ' SECO' }, bySeq, 0))).toEqual(['a-2']);
    expect(ids(arrange(rows, { ...NO_FILTER, search: 'a-' }, { ...bySeq, isDescending: true }, 0))).toEqual([
      'a-2',
      'a-10',
    ]);
  });

  test('is sorted by what needs a look first, by running time, and by names as people count', () => {
    const by = (key: 'status' | 'duration' | 'name', isDescending = false) =>
      ids(arrange(rows, NO_FILTER, { key, isDescending }, 100));
    expect(by('status')).toEqual(['a-2', 'b', 'a-10']);
    expect(by('duration', true)).toEqual(['b', 'a-10', 'a-2']);
    expect(by('name')).toEqual(['a-10', 'b', 'a-2']);
  });
});

describe('groups in the table', () => {
  const rows = [
    row('b', 1),
    row('each', 2, { group_kind: 'for_each', status: 'running', started_at: 5 }),
    row('a', 3),
    row('each[0]', 4, {
      group: 'each',
      index: 0,
      status: 'completed',
      started_at: 5,
      duration_ms: 9,
      ended_at: 14,
    }),
    row('each[1]', 5, {
      group: 'each',
      index: 1,
      status: 'failed',
      started_at: 5,
      duration_ms: 3,
      ended_at: 8,
    }),
  ];
  const bySeq = { key: 'seq', isDescending: false } as const;
  const ids = (filter: Partial<Filter>, order: Order = bySeq, opened: readonly string[] = []) =>
    arrange(rows, { ...NO_FILTER, ...filter }, order, 100, new Set(opened)).map((place) => rows[place]!.id);

  test('stand for their items until they are opened', () => {
    expect(ids({})).toEqual(['b', 'each', 'a']);
    expect(ids({}, bySeq, ['each'])).toEqual(['b', 'each', 'each[0]', 'each[1]', 'a']);
    expect(ids({}, { key: 'name', isDescending: true }, ['each'])).toEqual([
      'each',
      'each[1]',
      'each[0]',
      'b',
      'a',
    ]);
  });

  test('hide nothing that somebody looks for', () => {
    expect(ids({ search: '[1' })).toEqual(['each[1]']);
    expect(ids({ search: 'EACH' })).toEqual(['each', 'each[0]', 'each[1]']);
    expect(
      ids({ statuses: new Set(['failed', 'completed']) }, { key: 'status', isDescending: false }),
    ).toEqual(['each[1]', 'each[0]']);
    const byDuration = { key: 'duration', isDescending: true } as const;
    expect(ids({ search: 'each' }, byDuration)).toEqual(['each', 'each[0]', 'each[1]']);
    expect(ids({ function: 'read_file' })).toEqual(['b', 'each', 'a']);
  });

  test('count their items', () => {
    const counts = countItems(rows).get('each')!;
    expect(doneText(rows[1]!, counts)).toBe('2 of 2');
    expect(doneText({ group_kind: 'for_each', status: 'failed' }, counts)).toBe('2 items');
    expect(doneText({ group_kind: 'repeat', status: 'running' }, counts)).toBe('2 rounds');
    expect(doneText(rows[1]!, undefined)).toBeUndefined();
    expect(byUrgency(rows, 2).map(({ id }) => id)).toEqual(['each[1]', 'each']);
  });

  test('are above everything else on the timeline, and no part of a critical path are their items', () => {
    const { list } = spansOf(rows, 100);
    expect(list.map(({ row: { id }, lane }) => [id, lane])).toEqual([
      ['each', 0],
      ['each[0]', 1],
      ['each[1]', 2],
    ]);
    const chain = [
      row('first', 1, { started_at: 0, ended_at: 10 }),
      row('each', 2, { started_at: 10, ended_at: 90, depends_on: ['first'], group_kind: 'for_each' }),
      row('each[0]', 3, { started_at: 11, ended_at: 95, group: 'each' }),
    ];
    const places = new Map(chain.map(({ id }, place) => [id, place]));
    expect(criticalPath(chain, places, 100).ids).toEqual(['first', 'each']);
  });
});

describe('the state of a batch that does not run', () => {
  const idle = (open: number, failed: number, started_at: number | null = 1) => {
    const counts = { open, running: 0, completed: 1, failed, cancelled: 0, skipped: 0 };
    return batchState(batch('b', { counts, total: 1 + open + failed, succeeded: failed === 0, started_at }));
  };

  test('tells apart what never ran, what was stopped, and what came to its end', () => {
    expect([idle(2, 0, null), idle(2, 1), idle(0, 1), idle(0, 0)]).toEqual([
      'idle',
      'stopped',
      'failed',
      'done',
    ]);
  });
});

describe('the length of a run', () => {
  const lengthOf = (rest: Partial<Batch>) => runLength(batch('b', rest), 5000);

  test('is that of the last one, and unknown where its process died', () => {
    expect(lengthOf({})).toBeUndefined();
    expect(lengthOf({ started_at: 2000 })).toBeUndefined();
    expect(lengthOf({ started_at: 2000, ended_at: 2500 })).toBe(500);
    expect(lengthOf({ started_at: 2000, state: 'running' })).toBe(3000);
    expect(lengthOf({ started_at: 2000, state: 'elsewhere' })).toBe(3000);
  });
});

describe('the critical path', () => {
  test('is the chain that the end had to wait for', () => {
    const rows = [
      row('slow', 1, { started_at: 0, ended_at: 80 }),
      row('quick', 2, { started_at: 0, ended_at: 10 }),
      row('join', 3, { started_at: 90, ended_at: 100, depends_on: ['quick', 'slow', 'unknown'] }),
      row('other', 4, { started_at: 0, ended_at: 95 }),
    ];
    const places = new Map(rows.map(({ id }, place) => [id, place]));
    expect(criticalPath(rows, places, 100)).toEqual({ ids: ['slow', 'join'], lengthMs: 100, runningMs: 90 });
    expect(criticalPath([], new Map(), 0)).toEqual({ ids: [], lengthMs: 0, runningMs: 0 });
  });

  test('is none where nothing waits for anything', () => {
    const rows = [
      row('a', 1, { started_at: 0, ended_at: 80 }),
      row('b', 2, { started_at: 80, ended_at: 90 }),
    ];
    const places = new Map(rows.map(({ id }, place) => [id, place]));
    expect(criticalPath(rows, places, 100).ids).toEqual([]);
  });
});

describe('the timeline', () => {
  test('has a bar for each try, in lanes that never overlap, tied to the try before', () => {
    const tries = [
      { attempt: 1, startedAt: 1000, endedAt: 1100, outcome: 'failed', worker: 'w1' },
      { attempt: 2, startedAt: 1200, endedAt: null, outcome: 'running', worker: 'w2' },
    ] as const;
    const { list, laneCount, lengthMs } = spansOf(
      [
        row('a', 1, { tries }),
        row('b', 2, { status: 'completed', attempts: 1, started_at: 1050, ended_at: 1300 }),
        row('c', 3),
      ],
      1400,
    );
    expect(
      list.map(({ row: { id }, attempt, startMs, endMs, lane, before }) => [
        id,
        attempt,
        startMs,
        endMs,
        lane,
        before,
      ]),
    ).toEqual([
      ['a', 1, 0, 100, 0, -1],
      ['b', 1, 50, 300, 1, -1],
      ['a', 2, 200, 400, 0, 0],
    ]);
    expect([laneCount, lengthMs]).toEqual([2, 400]);
  });

  test('gives each worker lanes of its own, below its name', () => {
    const one = { attempt: 1, startedAt: 1000, endedAt: 1100, outcome: 'completed' } as const;
    const ran = (id: string, seq: number, worker: string | null) =>
      row(id, seq, { worker, tries: [{ ...one, worker }] });
    const rows = [
      ran('local', 1, null),
      ran('b1', 2, 'b'),
      ran('a1', 3, 'a'),
      ran('b2', 4, 'b'),
      row('all', 5, { group_kind: 'for_each', tries: [{ ...one, worker: null }] }),
    ];
    const { list, titles, laneCount } = spansOf(rows, 2000, true);
    expect(Object.fromEntries(list.map(({ row: { id }, lane }) => [id, lane]))).toEqual({
      all: 0,
      a1: 2,
      b1: 4,
      b2: 5,
      local: 7,
    });
    expect(titles.map(({ lane }) => lane)).toEqual([1, 3, 6]);
    expect(titles.slice(0, 2).map(({ text }) => text)).toEqual(['a', 'b']);
    expect(laneCount).toBe(8);
  });
});

describe('the graph', () => {
  const items = [
    { id: 'a', dependsOn: [] },
    { id: 'b', dependsOn: ['a'] },
    { id: 'c', dependsOn: ['a'] },
    { id: 'd', dependsOn: ['b', 'c'] },
    { id: 'alone', dependsOn: [] },
  ];

  test('stands in columns by depth, and what has no ties stands below', () => {
    const { xs, ys, edges, width, height } = layOutGraph(items);
    expect(xs[0]).toBeLessThan(xs[1]!);
    expect(xs[1]).toBe(xs[2]);
    expect(xs[3]).toBeGreaterThan(xs[2]!);
    expect(ys[1]).not.toBe(ys[2]);
    expect(ys[4]).toBeGreaterThan(Math.max(...ys.slice(0, 4)));
    expect(edges.map(({ from, to }) => [from, to]).sort()).toEqual([
      [0, 1],
      [0, 2],
      [1, 3],
      [2, 3],
    ]);
    expect(width).toBeGreaterThan(Math.max(...xs));
    expect(height).toBeGreaterThan(Math.max(...ys));
  });

  test('wraps a column of thousands, so that it stays readable, and no two stand in one place', () => {
    const fan = [
      { id: 'root', dependsOn: [] },
      ...Array.from({ length: 4998 }, (_, place) => ({ id: `t${place}`, dependsOn: ['root'] })),
      { id: 'end', dependsOn: Array.from({ length: 4998 }, (_, place) => `t${place}`) },
    ];
    const { xs, ys, width, height } = layOutGraph(fan);
    expect(width / height).toBeGreaterThan(0.5);
    expect(width / height).toBeLessThan(3);
    expect(new Set(Array.from(xs, (x, place) => `${x} ${ys[place]}`)).size).toBe(5000);
  });

  test('is walked through along its lines', () => {
    const layout = layOutGraph(items);
    const right = neighbour(layout, 0, 'ArrowRight');
    expect([1, 2]).toContain(right);
    expect(neighbour(layout, right, 'ArrowLeft')).toBe(0);
    expect(neighbour(layout, 3, 'ArrowRight')).toBe(3);
    expect(neighbour(layout, -1, 'ArrowDown')).toBe(0);
  });
});

describe('the address', () => {
  test('leads back to the same view, whatever a batch and a task are called', () => {
    const query = { task: 'x&y=1 2', q: '?#/', open: listText(['a,b', 'c%']) };
    const route = { page: 'batch', batch: 'a/b?c#ü', tab: 'graph', query } as const;
    expect(routeOf(hashOf(route))).toEqual(route);
    expect(listOf(query.open)).toEqual(['a,b', 'c%']);
    expect(routeOf('#/machine')).toEqual({ page: 'machine', query: {} });
    expect(routeOf('#/batch/%E0%A4%A/nonsense')).toMatchObject({ page: 'batch', tab: 'executions' });
    expect(routeOf('')).toEqual({ page: 'batches', query: {} });
  });

  test('has the filter and the order of the table, and nothing where they are as ever', () => {
    const address = '#/batch/b/executions?q=disk+full&status=running%2Cfailed&function=f&sort=-duration';
    const table = tableOf(routeOf(address).query);
    expect(table).toEqual({
      filter: { statuses: new Set(['running', 'failed']), function: 'f', search: 'disk full' },
      order: { key: 'duration', isDescending: true },
    });
    expect(tableOf(tableQuery(table))).toEqual(table);
    expect(withQuery({}, tableQuery(tableOf({ sort: 'nonsense', status: 'nonsense' })))).toEqual({});
  });
});

describe('a pasted batch', () => {
  test('is a list, an object with tasks, one task, or JSON Lines', () => {
    const task = { function: 'f' };
    expect(batchIn(JSON.stringify([task]))).toEqual({ tasks: [task] });
    expect(batchIn(JSON.stringify({ batch: 'n', tasks: [task], max_concurrent: 2 }))).toEqual({
      batch: 'n',
      tasks: [task],
      max_concurrent: 2,
    });
    expect(batchIn(JSON.stringify(task))).toEqual({ tasks: [task] });
    expect(batchIn('{"function":"f"}\n{"function":"f"}\n')).toEqual({ tasks: [task, task] });
  });

  test.each([
    ['', /Paste/],
    ['{', /no JSON/],
    ['3', /list of tasks/],
    ['{"task": []}', /no "tasks"/],
    ['{"tasks": 1}', /must be a list/],
    ['{"tasks": [], "max": 1}', /"max" is not known/],
  ])('says what is wrong with %j', (text, message) => {
    expect(() => batchIn(text)).toThrow(message);
  });
});

describe('the form of a function', () => {
  const schema = {
    type: 'object',
    properties: {
      limit: { type: ['integer', 'null'], default: 10 },
      path: { type: 'string', description: 'Where.' },
      kind: { enum: ['a', 'b'] },
      all: { type: 'array', items: { $ref: '#/$defs/part' } },
      free: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    },
    required: ['path', 'kind', 'all'],
    $defs: {
      part: { type: 'object', properties: { on: { type: 'boolean' }, more: { $ref: '#/$defs/part' } } },
    },
  };

  test('has a field for each argument, those that are required first', () => {
    const field = fieldOf(schema);
    if (field.kind !== 'object') throw new Error('no object');
    expect(field.properties.map((one) => [one.name, one.isRequired, one.field.kind])).toEqual([
      ['path', true, 'string'],
      ['kind', true, 'choice'],
      ['all', true, 'list'],
      ['limit', false, 'number'],
      ['free', false, 'any'],
    ]);
    expect(field.properties[0]!.field.description).toBe('Where.');
    expect(emptyValue(field)).toEqual({ path: '', kind: 'a', all: [] });
  });

  test('ends where a schema contains itself, and is free where there is none', () => {
    expect(JSON.stringify(fieldOf(schema)).length).toBeLessThan(5000);
    expect(fieldOf({}).kind).toBe('any');
    expect(fieldOf({ $ref: '#/nowhere' }).kind).toBe('any');
  });

  test('keeps what is not a number as it stands, for it may be a reference', () => {
    expect([numberIn('1.5'), numberIn(' '), numberIn('${a.n}')]).toEqual([1.5, undefined, '${a.n}']);
    expect([valueIn('[1]'), valueIn('x')]).toEqual([[1], 'x']);
  });
});
