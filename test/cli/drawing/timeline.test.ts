import { describe, expect, it } from 'vitest';
import { ticksFor, timelineOf } from '../../../src/cli/drawing/timeline.ts';
import { traceJson } from '../../../src/cli/drawing/trace.ts';
import { EVIL, finished } from './support/tasks.ts';

const at = (id: string, startMs: number, endMs: number | undefined) => finished(id, { startMs, endMs });

describe('the time line', () => {
  it('puts what ran at once into different lanes, and reuses the first that is free', () => {
    const { spans, laneCount, lengthMs } = timelineOf([
      at('b', 1010, 1020),
      at('a', 1000, 1030),
      at('c', 1020, 1040),
      at('d', 1030, 1035),
      finished('never', { startMs: undefined, endMs: undefined, status: 'skipped' }),
    ]);
    expect(spans.map(({ task, startMs, endMs, lane }) => [task.id, startMs, endMs, lane])).toEqual([
      ['a', 0, 30, 0],
      ['b', 10, 20, 1],
      ['c', 20, 40, 1],
      ['d', 30, 35, 0],
    ]);
    expect({ laneCount, lengthMs }).toEqual({ laneCount: 2, lengthMs: 40 });
  });

  it('needs one lane for tasks that took no time, and never overlaps', () => {
    expect(timelineOf(Array.from({ length: 50 }, (_, index) => at(String(index), 5, 5))).laneCount).toBe(1);
    let seed = 3;
    const next = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    const tasks = Array.from({ length: 2000 }, (_, index) => {
      const start = next(1000);
      return at(String(index), start, start + next(4) * next(20));
    });
    const ends: number[] = [];
    const { spans, laneCount } = timelineOf(tasks);
    for (const { lane, startMs, endMs } of spans) {
      expect(startMs).toBeGreaterThanOrEqual(ends[lane] ?? 0);
      ends[lane] = endMs;
    }
    expect(ends).toHaveLength(laneCount);
  });

  it('draws what did not end up to the end, and takes a clock that was set back', () => {
    const { spans } = timelineOf([at('open', 10, undefined), at('back', 20, 5), at('last', 20, 50)]);
    expect(spans.map(({ task, endMs }) => [task.id, endMs])).toEqual([
      ['open', 40],
      ['last', 40],
      ['back', 10],
    ]);
    expect(timelineOf([])).toEqual({ taskCount: 0, spans: [], laneCount: 0, groupLanes: 0, lengthMs: 0 });
  });

  it('has groups above their items, which count no lanes of theirs', () => {
    const group = finished('g', { startMs: 0, endMs: 40, isGroup: true });
    const { spans, laneCount, groupLanes } = timelineOf([
      at('first', 0, 5),
      group,
      finished('g[0]', { startMs: 5, endMs: 20, group: 'g' }),
      finished('g[1]', { startMs: 20, endMs: 40, group: 'g' }),
    ]);
    expect(Object.fromEntries(spans.map(({ task, lane }) => [task.id, lane]))).toEqual({
      g: 0,
      first: 1,
      'g[0]': 1,
      'g[1]': 1,
    });
    expect({ laneCount, groupLanes }).toEqual({ laneCount: 2, groupLanes: 1 });
  });

  it('has round marks, whatever its length', () => {
    const texts = (ms: number) => ticksFor(ms, 6).map(({ text }) => text);
    expect(texts(7)).toEqual(['0', '2 ms', '4 ms', '6 ms']);
    expect(texts(2400)).toEqual(['0', '500 ms', '1 s', '1.5 s', '2 s']);
    expect(texts(95_000)).toEqual(['0', '30 s', '1:00 min', '1:30 min']);
    expect(texts(3 * 3_600_000)).toEqual([
      '0',
      '30:00 min',
      '1:00 h',
      '1:30 h',
      '2:00 h',
      '2:30 h',
      '3:00 h',
    ]);
    expect(ticksFor(90 * 24 * 3_600_000, 12).length).toBeLessThanOrEqual(13);
  });
});

describe('a trace', () => {
  it('has an event for each task that ran, and arrows for what waited', () => {
    const text = traceJson('audit', [
      at('a', 1000, 1030.5),
      finished('b', {
        startMs: 1031,
        endMs: 1040,
        status: 'failed',
        attempts: 3,
        dependsOn: ['a', 'unknown'],
        name: EVIL,
      }),
      finished('c', { startMs: undefined, endMs: undefined, status: 'skipped', dependsOn: ['b'] }),
    ]);
    const common = { pid: 1, tid: 1 };
    expect(JSON.parse(text)).toEqual({
      displayTimeUnit: 'ms',
      otherData: { batch: 'audit', tasks: 3, tasksLeftOut: 0, neverStarted: 1, arrowsLeftOut: 0 },
      traceEvents: [
        { ph: 'M', name: 'process_name', pid: 1, tid: 0, args: { name: 'volley: audit' } },
        { ph: 'M', name: 'thread_name', ...common, args: { name: 'lane 1' } },
        {
          ph: 'X',
          name: 'Task a',
          cat: 'tool,completed',
          ...common,
          ts: 0,
          dur: 30_500,
          cname: 'good',
          args: { id: 'a', function: 'tool', status: 'completed', attempts: 1 },
        },
        {
          ph: 'X',
          name: EVIL,
          cat: 'tool,failed',
          ...common,
          ts: 31_000,
          dur: 9000,
          cname: 'terrible',
          args: { id: 'b', function: 'tool', status: 'failed', attempts: 3, dependsOn: ['a', 'unknown'] },
        },
        { ph: 's', name: 'waited for', cat: 'dependency', id: 1, ...common, ts: 30_500 },
        { ph: 'f', bp: 'e', name: 'waited for', cat: 'dependency', id: 1, ...common, ts: 31_000 },
      ],
    });
  });
});
