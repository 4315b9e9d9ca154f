import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import type { TaskEvent } from '../../../src/batch/run/events.ts';
import { loadStore } from '../../../src/store/open/load-store.ts';
import { HeldCalls, openRig } from '../support/rig.ts';
import { list, mayFail, ran } from './support.ts';

const EACH = { id: 'each', function: 'held', params: { key: '${item}' }, for_each: ['a', 'b', 'c'] };

describe('a group that runs', () => {
  it('stands for its items in the status, which come with details', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [EACH] });
    await rig.ask('start');
    await Promise.all(['a', 'b', 'c'].map((key) => calls.started(key)));
    const running = async (detailed: boolean) =>
      (await rig.ask('status', { detailed })).data['running'] as { id: string; step?: string }[];
    expect(await running(false)).toMatchObject([{ id: 'each', step: '0 of 3' }]);
    expect((await running(true)).map(({ id }) => id)).toEqual(['each', 'each[0]', 'each[1]', 'each[2]']);
    const { items } = await rig.executor.report('default', 'each');
    expect(items).toMatchObject({ running: 3, completed: 0 });
    for (const key of ['a', 'b', 'c']) calls.finish(key);
    await rig.ask('wait');
  });

  it('is counted by other processes, too', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...EACH, max_concurrent: 2 }] });
    await rig.ask('start');
    await calls.started('a');
    calls.finish('a');
    await calls.started('c');
    const store = await loadStore(rig.file);
    const other = new BatchExecutor({ coordinator: rig.coordinator, store });
    // What has completed is stored before the next one starts.
    const view = await other.view('default');
    expect(view?.running[0]).toMatchObject({ id: 'each', isGroup: true, step: '1 of 3' });
    expect(await other.explain('default', 'each')).toBeUndefined();
    await other.close();
    await store.close();
    for (const key of ['b', 'c']) calls.finish(key);
    await rig.ask('wait');
  });

  it('lets items wait for each other, and says so', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...EACH, max_concurrent: 1 }] });
    await rig.ask('start');
    await calls.started('a');
    expect(await rig.executor.explain('default', 'each[2]')).toContain('other items of each');
    const { waiting } = (await rig.ask('status', { detailed: true })).data as { waiting: { id: string }[] };
    expect(waiting).toEqual([]);
    for (const key of ['a', 'b', 'c']) calls.finish(key);
    await rig.ask('wait');
  });

  it('is explained once, however many of its items are queued', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [EACH] });
    await rig.ask('start', { max_concurrent: 1 });
    await calls.started('a');
    const { waiting } = (await rig.ask('status', { detailed: true })).data as { waiting: { id: string }[] };
    expect(waiting.map(({ id }) => id)).toEqual(['each[1]']);
    for (const key of ['a', 'b', 'c']) calls.finish(key);
    await rig.ask('wait');
  });

  it('has events that name the group of an item, and why something was skipped', async () => {
    const rig = await openRig();
    const events: TaskEvent[] = [];
    rig.executor.follow((event) => {
      if ('id' in event) events.push(event);
    });
    await ran(rig, [
      { id: 'each', function: 'echo', for_each: [1] },
      { id: 'never', function: 'echo', when: 'each.length > 1' },
    ]);
    const ends = events.filter(({ type }) => type === 'completed' || type === 'skipped');
    expect(ends).toMatchObject([
      { id: 'each[0]', group: 'each' },
      { id: 'each', group: undefined },
      { id: 'never', type: 'skipped', code: 'WHEN_FALSE' },
    ]);
  });
});

describe('a group that has ended', () => {
  const tasks = [
    { id: 'each', function: 'may_fail', params: { fails: { $expr: 'item > 1' } }, for_each: [1, 2, 3] },
    { id: 'last', function: 'echo' },
  ];

  it('stands for its items in results, unless they or their statuses are asked for', async () => {
    const rig = await openRig([mayFail]);
    await ran(rig, tasks);
    const ids = async (args: object) => {
      const { data } = await rig.ask('results', { format: 'json', ...args });
      return (data['results'] as { id: string }[]).map(({ id }) => id);
    };
    expect(await ids({})).toEqual(['each', 'last']);
    expect(await ids({ filter_status: 'failed' })).toEqual(['each', 'each[1]', 'each[2]']);
    expect(await ids({ group: 'each' })).toEqual(['each[0]', 'each[1]', 'each[2]']);
    expect(await ids({ group: 'each', filter_status: 'failed', limit: 1, offset: 1 })).toEqual(['each[2]']);
    const { data } = await rig.ask('results');
    expect(data['first']).toMatchObject([{ id: 'last' }]);
    // A group takes as long as its items, and none of the time.
    expect(data['slowest']).toHaveLength(4);
    expect(data['slowest']).not.toContainEqual(expect.objectContaining({ id: 'each' }));
  });

  it('is explained with its items', async () => {
    const rig = await openRig([mayFail]);
    await ran(rig, tasks);
    const report = await rig.executor.report('default', 'each');
    expect(report).toMatchObject({ kind: 'for_each', items: { completed: 1, failed: 2 } });
    expect(report.text).toContain('each[1] and each[2]');
  });

  it('is exported with items that name their group and place', async () => {
    const rig = await openRig([mayFail]);
    await ran(rig, tasks);
    const exported = async (format: string) => {
      await rig.ask('export', { format, output_file: `out.${format}` });
      return readFileSync(join(rig.folder, `out.${format}`), 'utf8');
    };
    const { tasks: rows } = JSON.parse(await exported('json')) as { tasks: { id: string }[] };
    expect(rows.find(({ id }) => id === 'each[2]')).toMatchObject({ group: 'each', index: 2 });
    expect(rows.find(({ id }) => id === 'each')).not.toHaveProperty('group');
    const lines = (await exported('jsonl')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows);
    const [head, ...cells] = (await exported('csv')).split('\r\n').map((line) => line.split(','));
    const place = [head!.indexOf('group'), head!.indexOf('index')];
    const item = cells.find(([id]) => id === 'each[0]')!;
    expect(place.map((column) => item[column])).toEqual(['each', '0']);
    expect(await exported('markdown')).toContain('each\\[2\\]');
  });
});

describe('a forecast', () => {
  it('counts lists and globs, and assumes something about the rest', async () => {
    const rig = await openRig([list]);
    mkdirSync(join(rig.folder, 'src'));
    for (const name of ['a.ts', 'b.ts', 'c.md']) writeFileSync(join(rig.folder, 'src', name), '');
    const { tasks } = await rig.executor.runnable('default', [
      { id: 'source', function: 'list', params: { values: [1] } },
      { id: 'literal', function: 'echo', for_each: [1, 2, 3, 4] },
      { id: 'files', function: 'echo', for_each: { glob: 'src/*.ts' }, max_concurrent: 1 },
      { id: 'unknown', function: 'echo', for_each: 'source.values', when: 'source.values.length > 0' },
      { id: 'rounds', function: 'echo', repeat: { max: 7 } },
      { id: 'until', function: 'echo', repeat: { until: 'index > 2', max: 5 } },
      { id: 'return', function: 'compute', params: { expression: 'literal.length' } },
    ]);
    const byId = new Map(tasks.map((task) => [task.id, task]));
    expect(byId.get('source')!.group).toBeUndefined();
    const groups = tasks.flatMap(({ id, group }) => (group === undefined ? [] : [[id, group] as const]));
    expect(Object.fromEntries(groups.map(([id, { items, isExact }]) => [id, { items, isExact }]))).toEqual({
      literal: { items: 4, isExact: true },
      files: { items: 2, isExact: true },
      unknown: { items: 10, isExact: false },
      rounds: { items: 7, isExact: true },
      until: { items: 5, isExact: false },
    });
    expect(byId.get('unknown')).toMatchObject({ when: 'source.values.length > 0', dependsOn: ['source'] });
    expect(byId.get('return')).toMatchObject({ returns: 'literal.length' });
  });

  it('counts the items that are left of a group that was stopped', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...EACH, max_concurrent: 1 }] });
    await rig.ask('start');
    await calls.started('a');
    await rig.ask('stop');
    calls.finish('a');
    await rig.ask('wait');
    const { tasks, learned } = await rig.executor.runnable('default');
    expect(tasks).toMatchObject([{ id: 'each', group: { items: 2, isExact: true } }]);
    expect(learned.get('held')?.count).toBe(1);
  });
});
