import { describe, expect, it, onTestFinished } from 'vitest';
import { VolleyError } from '../../src/core/errors.ts';
import { type MapOptions, ParallelExecutionEngine } from '../../src/engine/engine.ts';
import type { TaskContext } from '../../src/engine/task.ts';
import { gate } from './support/gate.ts';

function openEngine(maxConcurrency = 8): ParallelExecutionEngine {
  const engine = new ParallelExecutionEngine({ maxConcurrency });
  onTestFinished(() => engine.close({ cancel: true }));
  return engine;
}

describe('submit with the function first', () => {
  it('runs the function and names the execution after it', async () => {
    const fetchPage = () => 'page';
    const handle = openEngine().submit(fetchPage);
    expect(await handle.wait()).toBe('page');
    expect(handle.toolName).toBe('fetchPage');
  });

  it('calls an execution without any name "function"', async () => {
    const engine = openEngine();
    expect(engine.submit(() => 1).toolName).toBe('function');
    expect(engine.submit({}, () => 1).toolName).toBe('function');
  });

  it('takes the options last', async () => {
    const engine = openEngine();
    const first = engine.submit(() => 1, { id: 'first', toolName: 'count' });
    const second = engine.submit(async () => (await first.wait()) + 1, { dependsOn: [first] });
    expect(first).toMatchObject({ id: 'first', toolName: 'count' });
    expect(await second.wait()).toBe(2);
  });

  it('also works for children, which are named after their functions', async () => {
    const engine = openEngine();
    const child = () => 'child';
    const parent = engine.submit(async ({ submit }) => {
      const handle = submit(child, { priority: 'low' });
      return [handle.toolName, await handle.wait()];
    });
    expect(await parent.wait()).toEqual(['child', 'child']);
  });

  it.each([null, 7, 'options'])('refuses options such as %j', (options) => {
    expect(() => openEngine().submit(() => 1, options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_VALUE' }),
    );
  });

  it('refuses a submission without a function', () => {
    const submit = (...args: unknown[]): unknown => openEngine().submit(...(args as [() => number]));
    for (const args of [[], [{}], [{}, {}]])
      expect(() => submit(...args)).toThrow(expect.objectContaining({ code: 'INVALID_VALUE' }));
  });
});

describe('map', () => {
  it('returns the values in the order of the items', async () => {
    const values = await openEngine().map(new Set(['a', 'b', 'c']), async (item, index) => `${index}${item}`);
    expect(values).toEqual(['0a', '1b', '2c']);
  });

  it('returns an empty list for one', async () => {
    expect(await openEngine().map([], () => 1)).toEqual([]);
  });

  it('runs at most as many at once as it is told', async () => {
    let [running, highest] = [0, 0];
    await openEngine().map(
      Array.from({ length: 20 }),
      async () => {
        highest = Math.max(highest, ++running);
        await new Promise(setImmediate);
        running--;
      },
      { concurrency: 3 },
    );
    expect(highest).toBe(3);
  });

  it('throws the error of the first failure, and stops the rest', async () => {
    const [started, stopped] = [gate(), gate()];
    const error = new TypeError('no');
    const calls: number[] = [];
    const mapping = openEngine().map(
      [0, 1, 2],
      async (item, _index, { onStop }) => {
        calls.push(item);
        if (item === 0) {
          onStop(() => stopped.open());
          started.open();
          await stopped.passed;
        }
        await started.passed;
        throw error;
      },
      { concurrency: 2 },
    );
    await expect(mapping).rejects.toBe(error);
    await stopped.passed;
    expect(calls).toEqual([0, 1]);
  });

  it('is cancelled by its signal', async () => {
    const controller = new AbortController();
    const stop = (_item: number, _index: number, { signal }: TaskContext) => {
      queueMicrotask(() => controller.abort('enough'));
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const mapping = openEngine().map([1], stop, { signal: controller.signal });
    await expect(mapping).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
  });

  it('passes the options on to every execution', async () => {
    const engine = openEngine();
    const attempts = await engine.map(
      ['a', 'b'],
      (_item, _index, { attempt }) => {
        if (attempt === 1) throw new Error('again');
        return attempt;
      },
      { toolName: 'flaky', retry: { maxRetries: 1, delayMs: 1 } },
    );
    expect(attempts).toEqual([2, 2]);
  });

  it.each<[string, unknown[]]>([
    ['a list that is none', [7, () => 1]],
    ['a missing function', [[1]]],
    ['an option of one execution only', [[1], () => 1, { id: 'x' }]],
    ['an unknown option', [[1], () => 1, { concurency: 2 }]],
    ['a concurrency of none', [[1], () => 1, { concurrency: 0 }]],
  ])('refuses %s', async (_, args) => {
    const [list, run, options] = args as [number[], () => number, MapOptions];
    await expect(openEngine().map(list, run, options)).rejects.toMatchObject({
      name: VolleyError.name,
      code: 'INVALID_VALUE',
    });
  });
});
