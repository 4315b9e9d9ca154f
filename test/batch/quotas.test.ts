import { describe, expect, it } from 'vitest';
import { OutageError, RateLimitedError } from '../../src/engine/tool-failure.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { gate } from '../engine/support/gate.ts';
import { openRig } from './support/rig.ts';

const calls = (name: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({
    id: `${name}${index}`,
    function: name,
    params: { index },
    ...more,
  }));

describe('a batch whose service refuses calls because a quota is used up', () => {
  it('completes all of them without retries, and says meanwhile what waits until when', async () => {
    const paused = gate<void>();
    const other = gate<void>();
    let refused = 0;
    const api = defineTool<{ index: number }>({
      name: 'api',
      run: ({ index }) => {
        if (refused++ < 3) {
          if (refused === 3) paused.open();
          throw new RateLimitedError('Slow down', { retryAfterMs: 400 });
        }
        return index;
      },
    });
    const local = defineTool({ name: 'local', run: () => other.passed });
    const { ask, executor, store, standing } = await openRig([api, local]);
    await ask('add_batch', { tasks: [...calls('api', 3), ...calls('local', 1)] });
    const events: unknown[] = [];
    executor.follow((event) => {
      if (event.type === 'retrying') events.push([event.id, event.quota]);
    });
    await ask('start', { max_concurrent: 5 });
    await paused.passed;
    await expect.poll(() => events).toHaveLength(3);
    expect(events).toContainEqual(['api0', 'api']);
    const { data, text } = await ask('status', { detailed: true });
    expect(data).toMatchObject({
      running: [{ id: 'local0' }],
      paused: [{ scope: 'api', until: expect.any(String) }],
    });
    expect(text).toMatch(/Paused until .*: api reached its limit/);
    expect((await store.task('default', 'api0'))?.status).toBe('open');
    other.open();
    await ask('wait');
    expect(await standing()).toEqual([
      'api0 completed',
      'api1 completed',
      'api2 completed',
      'local0 completed',
    ]);
    expect((await ask('status')).data).not.toHaveProperty('paused');
  });

  it('leaves a paused task open when it is stopped', async () => {
    const paused = gate<void>();
    const api = defineTool({
      name: 'api',
      run: () => {
        paused.open();
        throw new RateLimitedError('Slow down', { retryAfterMs: 3_600_000 });
      },
    });
    const { ask, standing } = await openRig([api]);
    await ask('add_batch', { tasks: calls('api', 2) });
    await ask('start');
    await paused.passed;
    await ask('stop');
    await ask('wait');
    expect(await standing()).toEqual(['api0 open', 'api1 open']);
  });
});

describe('a batch whose calls all fail for the same outside reason', () => {
  it('stops after a few with one message, and completes the rest when it is started again', async () => {
    let isKeyRight = false;
    let asked = 0;
    const api = defineTool<{ index: number }>({
      name: 'api',
      run: ({ index }) => {
        asked++;
        if (!isKeyRight) throw new OutageError('The API refused the key', { kind: 'auth' });
        return index;
      },
    });
    const { ask, executor, standing } = await openRig([api]);
    await ask('add_batch', { tasks: calls('api', 40) });
    await ask('start', { max_concurrent: 5 });
    await ask('wait');
    expect(asked).toBe(5);
    expect(await standing()).toEqual(calls('api', 40).map(({ id }) => `${id} open`));
    const view = await executor.view('default');
    expect(view?.problem).toMatch(/5 calls in a row .*auth.*The API refused the key/);
    isKeyRight = true;
    await ask('start', { max_concurrent: 5 });
    await ask('wait');
    expect((await standing()).filter((one) => !one.endsWith('completed'))).toEqual([]);
  });

  it('goes on if others succeed, and fails only the task that never gets through', async () => {
    const api = defineTool<{ index: number }>({
      name: 'api',
      quota: ({ index }) => `host:${index}`,
      run: ({ index }) => {
        if (index === 1) throw new OutageError('Not reachable', { kind: 'network' });
        return index;
      },
    });
    const { ask, standing } = await openRig([api], (config) => ({
      ...config,
      defaults: { ...config.defaults, maxOutages: 2 },
    }));
    const tasks = calls('api', 3);
    await ask('add_batch', { tasks: [tasks[1], { ...tasks[0], depends_on: [] }] });
    await ask('start');
    await ask('wait');
    expect(await standing()).toEqual(['api1 failed error: Not reachable', 'api0 completed']);
  });
});
