import { describe, expect, it } from 'vitest';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { HeldCalls, openRig, type Rig } from '../support/rig.ts';
import { ran, refusal, resultOf } from './support.ts';

const held = { id: 'each', function: 'held', params: { key: '${item}' }, for_each: ['a', 'b', 'c', 'd'] };

/** Fails for the given keys until it is mended. */
function brittle(broken: Set<string>): Tool {
  return defineTool<{ key: string }>({
    name: 'brittle',
    run: ({ key }) => {
      if (broken.has(key)) throw new Error(`${key} is broken`);
      return key;
    },
  }) as Tool;
}

async function statuses(rig: Rig, batch = 'default'): Promise<Record<string, string>> {
  const tasks = await rig.store.tasks(batch, { limit: 1000 });
  return Object.fromEntries(tasks.map(({ id, status }) => [id, status]));
}

/** The counts of the batch and of its tasks, which must agree. */
async function counts(rig: Rig): Promise<{ kept: object; counted: Record<string, number> }> {
  const counted = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
  for (const status of Object.values(await statuses(rig))) counted[status as keyof typeof counted]++;
  return { kept: (await rig.store.batch('default'))!.counts, counted };
}

describe('retrying', () => {
  const each = { id: 'each', function: 'brittle', params: { key: '${item}' }, for_each: ['a', 'b', 'c'] };
  const after = { id: 'after', function: 'echo', params: { all: { $from: 'each' } } };

  it('a group runs only the items again that did not complete', async () => {
    const broken = new Set(['b']);
    const rig = await openRig([brittle(broken)]);
    await ran(rig, [each, after]);
    broken.clear();
    await rig.ask('retry', { ids: ['each'] });
    expect(await statuses(rig)).toEqual({
      each: 'open',
      after: 'open',
      'each[0]': 'completed',
      'each[1]': 'open',
      'each[2]': 'completed',
    });
    await rig.ask('start', { wait: true });
    expect(await resultOf(rig, 'after')).toEqual({ all: ['a', 'b', 'c'] });
    expect((await rig.store.task('default', 'each[0]'))!.attempts).toBe(1);
    const { kept, counted } = await counts(rig);
    expect(kept).toEqual(counted);
  });

  it('a single item runs it again, with its group and what was skipped because of that', async () => {
    const broken = new Set(['a', 'b']);
    const rig = await openRig([brittle(broken)]);
    await ran(rig, [each, after]);
    broken.clear();
    await rig.ask('retry', { ids: ['each[1]'] });
    expect(await statuses(rig)).toMatchObject({
      each: 'open',
      after: 'open',
      'each[0]': 'failed',
      'each[1]': 'open',
    });
    await rig.ask('start', { wait: true });
    expect(await statuses(rig)).toMatchObject({
      each: 'failed',
      'each[0]': 'failed',
      'each[1]': 'completed',
    });
    await rig.ask('retry');
    await rig.ask('start', { wait: true });
    expect(await resultOf(rig, 'after')).toEqual({ all: ['a', 'b', 'c'] });
  });

  it('leaves failed items alone whose group completed without them, unless they are named', async () => {
    const broken = new Set(['b']);
    const rig = await openRig([brittle(broken)]);
    await ran(rig, [{ ...each, on_item_error: 'null' }]);
    expect((await rig.ask('retry')).data).toMatchObject({ reopened: 0 });
    broken.clear();
    expect((await rig.ask('retry', { ids: ['each[1]'] })).data).toMatchObject({ reopened: 2 });
    await rig.ask('start', { wait: true });
    expect(await resultOf(rig, 'each')).toEqual(['a', 'b', 'c']);
  });

  it('an item of a group that still runs is refused', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [held] });
    await rig.ask('start', { max_concurrent: 4 });
    await calls.started('b');
    calls.fail('a', 'it failed');
    await rig.ask('cancel', { ids: ['each[0]', 'each[1]'] });
    expect(await refusal(rig, 'retry', { ids: ['each[1]'] })).toMatchObject({ code: 'INVALID_REQUEST' });
  });
});

describe('cancelling', () => {
  it('a group cancels all its items, submitted or not, and dependents are skipped', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', {
      tasks: [
        { ...held, max_concurrent: 2 },
        { id: 'after', function: 'echo', depends_on: ['each'] },
      ],
    });
    await rig.ask('start');
    await calls.started('b');
    calls.finish('a');
    await calls.started('c');
    expect((await rig.ask('cancel', { ids: ['each'] })).data).toMatchObject({ cancelled: 4 });
    await rig.ask('wait');
    expect(await statuses(rig)).toEqual({
      each: 'cancelled',
      after: 'skipped',
      'each[0]': 'completed',
      'each[1]': 'cancelled',
      'each[2]': 'cancelled',
      'each[3]': 'cancelled',
    });
    const { kept, counted } = await counts(rig);
    expect(kept).toEqual(counted);
  });

  it('one item, running or not submitted yet, lets the others run', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...held, max_concurrent: 2, on_item_error: 'null' }] });
    await rig.ask('start');
    await calls.started('b');
    expect((await rig.ask('cancel', { ids: ['each[0]', 'each[2]'] })).data).toMatchObject({ cancelled: 2 });
    await calls.started('d');
    for (const key of ['b', 'd']) calls.finish(key);
    await rig.ask('wait');
    expect(await resultOf(rig, 'each')).toEqual([null, 'b', null, 'd']);
    expect(calls.begun).toEqual(['a', 'b', 'd']);
  });

  it('everything leaves nothing open', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...held, max_concurrent: 1 }] });
    await rig.ask('start');
    await calls.started('a');
    expect((await rig.ask('cancel', { all: true })).data).toMatchObject({
      cancelled: 5,
      counts: { open: 0, running: 0, cancelled: 5 },
    });
  });

  it('a group of a batch that does not run cancels its open items', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...held, max_concurrent: 1 }] });
    await rig.ask('start');
    await calls.started('a');
    await rig.ask('stop', { graceful: true });
    calls.finish('a');
    await rig.ask('wait');
    expect(await statuses(rig)).toMatchObject({ each: 'open', 'each[0]': 'completed', 'each[3]': 'open' });
    expect((await rig.ask('cancel', { ids: ['each[1]', 'each'] })).data).toMatchObject({ cancelled: 4 });
    const { kept, counted } = await counts(rig);
    expect(kept).toEqual(counted);
  });
});

describe('stopping', () => {
  it('lets running items finish, and the next start continues with the same items', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...held, for_each: 'Array.from("abcd")' }] });
    await rig.ask('start', { max_concurrent: 2 });
    await calls.started('b');
    await rig.ask('stop');
    for (const key of ['a', 'b']) calls.finish(key);
    await rig.ask('wait');
    expect(await statuses(rig)).toEqual({
      each: 'open',
      'each[0]': 'completed',
      'each[1]': 'completed',
      'each[2]': 'open',
      'each[3]': 'open',
    });
    for (const key of ['c', 'd']) calls.finish(key);
    await rig.ask('start', { wait: true });
    expect(await resultOf(rig, 'each')).toEqual(['a', 'b', 'c', 'd']);
    expect(calls.begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('at once leaves items open that may run twice', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool('held', { idempotent: true })]);
    await rig.ask('add_batch', { tasks: [held] });
    await rig.ask('start', { max_concurrent: 2 });
    await calls.started('b');
    await rig.ask('stop', { graceful: false });
    expect(new Set(Object.values(await statuses(rig)))).toEqual(new Set(['open']));
    for (const key of ['a', 'b', 'c', 'd']) calls.finish(key);
    await rig.ask('start', { wait: true });
    expect(await resultOf(rig, 'each')).toEqual(['a', 'b', 'c', 'd']);
  });

  it('ends the pause between two rounds', async () => {
    const rig = await openRig();
    await rig.ask('add_batch', {
      tasks: [{ id: 'r', function: 'echo', params: { i: '${index}' }, repeat: { max: 2, delay: 3600 } }],
    });
    const first = new Promise<void>((resolve) => {
      rig.executor.follow((event) => event.type === 'completed' && resolve());
    });
    await rig.ask('start');
    await first;
    await rig.ask('stop');
    await rig.ask('wait');
    expect(await statuses(rig)).toEqual({ r: 'open', 'r[0]': 'completed' });
  });
});

describe('the limits of a batch', () => {
  it('apply to items: its deadline ends those that were never submitted, too', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...held, max_concurrent: 1 }] });
    await rig.ask('start', { wait: true, timeout: 1 });
    expect(new Set(await rig.standing())).toEqual(
      new Set(['each failed deadline', ...[0, 1, 2, 3].map((index) => `each[${index}] failed deadline`)]),
    );
  });

  it('fail_fast ends with the first failed item, but not with one that may fail', async () => {
    const broken = new Set(['a']);
    const calls = new HeldCalls();
    const rig = await openRig([brittle(broken), calls.tool()]);
    const tasks = [{ id: 'each', function: 'brittle', params: { key: '${item}' }, for_each: ['a', 'b'] }];
    await rig.ask('add_batch', {
      batch: 'strict',
      tasks: [...tasks, { id: 'held', function: 'held', params: { key: 'x' } }],
    });
    await rig.ask('start', { batch: 'strict', wait: true, fail_fast: true });
    expect(await statuses(rig, 'strict')).toMatchObject({ held: 'cancelled', 'each[0]': 'failed' });
    await rig.ask('add_batch', { batch: 'lax', tasks: [{ ...tasks[0], on_item_error: 'null' }] });
    await rig.ask('start', { batch: 'lax', wait: true, fail_fast: true });
    expect(await statuses(rig, 'lax')).toEqual({
      each: 'completed',
      'each[0]': 'failed',
      'each[1]': 'completed',
    });
  });

  it('the timeout and the retries of a task are those of each item', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...held, for_each: ['a'], timeout: 0.05, max_retries: 1 }] });
    await rig.ask('start', { wait: true });
    expect(await rig.standing()).toEqual(['each failed error: ITEM_FAILED', 'each[0] failed timeout']);
    expect((await rig.store.task('default', 'each[0]'))!.attempts).toBe(2);
  });
});

describe('clearing', () => {
  it('takes the items of a group with it, and only then', async () => {
    const broken = new Set(['b']);
    const rig = await openRig([brittle(broken)]);
    const task = { function: 'brittle', params: { key: '${item}' }, for_each: ['a', 'b'] };
    await ran(rig, [
      { id: 'bad', ...task },
      { id: 'good', ...task, on_item_error: 'null' },
      { id: 'single', function: 'echo' },
    ]);
    await rig.ask('clear', { filter_status: 'completed' });
    expect(await statuses(rig)).toEqual({ bad: 'failed', 'bad[0]': 'completed', 'bad[1]': 'failed' });
    const { kept, counted } = await counts(rig);
    expect(kept).toEqual(counted);
    await rig.ask('clear', { filter_status: 'failed' });
    expect(await statuses(rig)).toEqual({});
  });
});

describe('looking at groups', () => {
  it('explains a group and single items, and lists and exports them', async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ ...held, for_each: ['a', 'b'] }] });
    await rig.ask('start');
    await calls.started('b');
    calls.finish('a');
    calls.fail('b', 'it failed');
    await rig.ask('wait');
    expect(await rig.executor.explain('default', 'each')).toContain('each[1]');
    expect(await rig.executor.explain('default', 'each[1]')).toContain('it failed');
    expect((await rig.ask('results', { id: 'each[0]' })).data).toMatchObject({ result: 'a' });
    expect((await rig.ask('results', { format: 'json' })).data['results']).toMatchObject([
      { id: 'each', items: { completed: 1, failed: 1 } },
    ]);
    expect((await rig.ask('results', { format: 'json', group: 'each' })).data['results']).toMatchObject([
      { id: 'each[0]', name: 'each[0]', group: 'each', index: 0 },
      { id: 'each[1]' },
    ]);
    expect((await rig.ask('export', { format: 'csv', output_file: 'out.csv' })).ok).toBe(true);
  });
});
