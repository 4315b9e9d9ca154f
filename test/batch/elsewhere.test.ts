import { describe, expect, it, onTestFinished } from 'vitest';
import type { BatchAnswer } from '../../src/batch/answer.ts';
import { BatchExecutor } from '../../src/batch/executor/batch-executor.ts';
import { RateLimitedError } from '../../src/engine/tool-failure.ts';
import { executionBody } from '../../src/server/wire/execution.ts';
import type { Lease, Store } from '../../src/store/store.ts';
import { StoreWatch } from '../../src/store/store-watch.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { temporaryFolder } from '../store/support/store.ts';
import { HeldCalls, newPlace, openRig } from './support/rig.ts';

const WAIT = { timeout: 120_000 };

const held = (key: string, more: object = {}) => ({ id: key, function: 'held', params: { key }, ...more });

/** One executor that runs a batch, and another on the same file, as in another process. */
async function runningElsewhere(
  tasks: readonly object[],
  start: object = {},
  calls = new HeldCalls(),
  more: readonly Tool[] = [],
) {
  const file = await newPlace(temporaryFolder());
  const here = await openRig([calls.tool('held', { idempotent: true }), ...more], undefined, file);
  const there = await openRig([calls.tool('held', { idempotent: true }), ...more], undefined, file);
  await here.ask('add_batch', { tasks });
  await here.ask('start', start);
  return { calls, here, there };
}

describe('a batch that another process runs', () => {
  it('is stopped on request: what runs finishes, what is left stays open', async () => {
    const { calls, here, there } = await runningElsewhere(
      ['a', 'b'].map((key) => held(key)),
      {
        max_concurrent: 1,
      },
    );
    await calls.started('a');
    const stopped = await there.ask('stop');
    expect(stopped.data).toMatchObject({ state: 'stopping', running: 1, holder: { pid: process.pid } });
    expect(stopped.text).toContain(`process ${process.pid}`);
    calls.finish('a');
    expect((await there.ask('wait')).data).toMatchObject({ finished: true });
    expect(await here.standing()).toEqual(['a completed', 'b open']);
  });

  it('shows what runs, what failed and what waits, to those who only look', async () => {
    const { calls, there } = await runningElsewhere(
      [held('a'), held('b'), held('c', { depends_on: ['b'] })],
      { max_concurrent: 2 },
    );
    await calls.started('b');
    calls.fail('a', 'no good');
    await expect.poll(async () => (await there.executor.view())?.counts.failed, { timeout: 60_000 }).toBe(1);
    const { data, text } = await there.ask('status', { detailed: true });
    expect(data).toMatchObject({
      state: 'elsewhere',
      running: [{ id: 'b', function: 'held', attempt: 1 }],
      last_failures: [{ id: 'a' }],
      waiting: [{ id: 'c', text: expect.stringContaining('b (running)') }],
    });
    expect(text).toContain('Running now (1):\n- b (held), ');
    calls.finish('b');
    await calls.started('c');
    calls.finish('c');
    await there.ask('wait');
  });

  it('tells a pause before another attempt from work, to those who only look', async () => {
    const calls = new HeldCalls();
    const retry = { maxRetries: 1, delayMs: 3_600_000, maxDelayMs: 3_600_000, jitter: 0 };
    const { here, there } = await runningElsewhere([held('a', { function: 'late' }), held('b')], {}, calls, [
      calls.tool('late', { idempotent: true, retry }),
    ]);
    await calls.started('a');
    await calls.started('b');
    const ids = async () => (await there.executor.view())?.running.map(({ id }) => id);
    await expect.poll(ids, WAIT).toEqual(['a', 'b']);
    const told: string[] = [];
    const watch = new StoreWatch(there.store);
    watch.listen({ changed: (batch) => told.push(batch), gone: () => undefined });
    onTestFinished(watch.start());
    await watch.ready();
    calls.fail('a', 'no good');
    await expect.poll(ids, WAIT).toEqual(['b']);
    await expect.poll(() => told, WAIT).toContain('default');
    const { data, text } = await there.ask('status');
    expect(data).toMatchObject({ counts: { running: 2 }, running: [{ id: 'b' }], waiting: [{ id: 'a' }] });
    expect(text).toMatch(/Waiting:\n- a .*no good/);
    expect((await there.executor.report('default', 'a')).text).toMatch(/^a \(late\) .*\n.*no good/);
    const { until } = here.executor.pause((await here.store.task('default', 'a'))!)!;
    expect(executionBody((await there.store.task('default', 'a'))!, there.executor)).toMatchObject({
      retry_at: until,
      reason: 'error',
    });
    await there.ask('stop', { graceful: false });
    expect(await there.store.task('default', 'a')).not.toHaveProperty('pause');
  });

  it('has nothing to take where nothing could be tried again', async () => {
    const { calls, there } = await runningElsewhere([held('a')]);
    await calls.started('a');
    await expect.poll(async () => (await there.executor.view())?.counts.running, WAIT).toBe(1);
    expect((await there.ask('retry')).data).toMatchObject({ reopened: 0, counts: { running: 1 } });
  });

  it('tells which quota is used up until when, as the one does that runs it', async () => {
    const api = defineTool({
      name: 'api',
      run: () => {
        throw new RateLimitedError('Slow down', { retryAfterMs: 3_600_000 });
      },
    });
    const tasks = [{ id: 'a', function: 'api', params: {} }];
    const { here, there } = await runningElsewhere(tasks, {}, undefined, [api]);
    await expect.poll(async () => (await here.executor.view())?.pauses, WAIT).toHaveLength(1);
    const { pauses } = (await there.executor.speed('default'))!;
    expect(pauses).toEqual([{ scope: 'api', until: expect.any(Number) }]);
    expect(pauses[0]!.until).toBeGreaterThan(Date.now());
    expect((await there.ask('status')).data).toMatchObject({
      state: 'elsewhere',
      paused: [{ scope: 'api' }],
      waiting: [{ id: 'a', text: await here.executor.explain('default', 'a') }],
    });
    expect((await there.executor.report('default', 'a')).text).toContain(
      (await here.executor.explain('default', 'a'))!.split(' in ')[0],
    );
    await there.ask('stop', { graceful: false });
  });

  it('tells how fast it goes and how long it will take, as the one does that runs it', async () => {
    const { calls, here, there } = await runningElsewhere(
      ['a', 'b', 'c'].map((key) => held(key)),
      { max_concurrent: 1 },
    );
    await calls.started('a');
    expect(await there.executor.speed('default')).toEqual({ pauses: [] });
    calls.finish('a');
    await calls.started('b');
    const speed = () => there.executor.speed('default');
    // The next one may start while the result is still being written.
    await expect.poll(async () => (await speed())?.ratePerSecond, WAIT).toBeGreaterThan(0);
    expect(await speed()).toEqual({
      ratePerSecond: expect.any(Number),
      timeLeft: { lowMs: expect.any(Number), expectedMs: expect.any(Number), highMs: expect.any(Number) },
      pauses: [],
    });
    calls.finish('b');
    calls.finish('c');
    await here.ask('wait');
    expect(await there.executor.speed('default')).toBeUndefined();
    expect(await here.store.asked('default')).toEqual([]);
  });

  it('is stopped at once on request, and the answer waits for that', async () => {
    const { calls, here, there } = await runningElsewhere([held('a')]);
    await calls.started('a');
    const stopped = await there.ask('stop', { graceful: false });
    expect(stopped.data).toMatchObject({ state: 'idle', counts: { open: 1, running: 0 } });
    expect(await here.executor.view()).toMatchObject({ state: 'idle' });
  });

  it('has single tasks cancelled on request, and all of them', async () => {
    const { calls, here, there } = await runningElsewhere(['a', 'b', 'c'].map((key) => held(key)));
    await calls.started('c');
    expect((await there.ask('cancel', { ids: ['b'] })).data).toMatchObject({ cancelled: 1 });
    expect((await there.ask('cancel', { all: true })).data).toMatchObject({
      cancelled: 2,
      counts: { cancelled: 3 },
    });
    expect(await here.standing()).toEqual(['a', 'b', 'c'].map((id) => `${id} cancelled`));
    await there.ask('wait');
  });

  it('takes in what is added, and what is opened again, while it runs', async () => {
    const { calls, here, there } = await runningElsewhere([held('a'), held('b')]);
    await calls.started('b');
    await there.ask('add', held('c'));
    await calls.started('c');
    calls.fail('b', 'once');
    await expect.poll(() => here.standing(), { timeout: 60_000 }).toContain('b failed error: once');
    expect((await there.ask('retry')).data).toMatchObject({ reopened: 1, state: 'elsewhere' });
    await expect.poll(() => calls.begun, { timeout: 60_000 }).toEqual(['a', 'b', 'c', 'b']);
    calls.finish('a');
    calls.finish('c');
    await here.ask('wait');
    // Nothing is left behind of all that was asked.
    expect(await here.store.asked('default')).toEqual([]);
  });

  it('takes in what is added in the last moment before it is given back', async () => {
    const file = await newPlace(temporaryFolder());
    const { coordinator, store, standing } = await openRig([], undefined, file);
    const there = await openRig([], undefined, file);
    let added: BatchAnswer | undefined;
    // The real store, and another process that is quicker than the end of the run.
    const late: Store = Object.assign(Object.create(store) as Store, {
      lease: async (batch: string): Promise<Lease> => {
        const lease = await store.lease(batch);
        const end: Lease['end'] = async (...how) => {
          added ??= await there.ask('add', { id: 'late', function: 'echo' });
          return lease.end(...how);
        };
        return { ...lease, end };
      },
    });
    const executor = new BatchExecutor({ coordinator, store: late });
    onTestFinished(() => executor.close());
    await executor.handle({ action: 'add', id: 'first', function: 'echo' });
    expect(await executor.handle({ action: 'start', wait: true })).toMatchObject({
      data: { succeeded: true },
    });
    expect(added).toMatchObject({ data: { state: 'elsewhere' } });
    expect(await standing()).toEqual(['first completed', 'late completed']);
  });

  it('is not touched by a stop that comes when it has ended', async () => {
    const { calls, here, there } = await runningElsewhere([held('a')]);
    await calls.started('a');
    calls.finish('a');
    await here.ask('wait');
    expect((await there.ask('stop')).data).toMatchObject({ state: 'idle', succeeded: true });
  });
});
