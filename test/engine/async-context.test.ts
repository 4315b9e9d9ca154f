import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';

const user = new AsyncLocalStorage<string>();

describe('the async context of a function', () => {
  it('is that in which the engine was made, never that of another caller', async () => {
    const engine = user.run('maker', () => openEngine({ maxConcurrency: 1 }));
    const seen: (string | undefined)[] = [];
    const run = async () => {
      seen.push(user.getStore());
      await nextTurn();
      seen.push(user.getStore());
    };
    for (const name of ['ann', 'bob'])
      user.run(name, () => engine.submit({ toolName: 'look', retry: { maxRetries: 1 } }, run));
    user.run('cid', () => engine.submitAll([{ toolName: 'look', run }]));
    await engine.drain();
    expect(seen).toEqual(Array(6).fill('maker'));
  });

  it('is left as it is for who waits', async () => {
    const engine = openEngine();
    const seen = await user.run('ann', async () => {
      await engine.submit({ toolName: 'look' }, () => nextTurn()).wait();
      return user.getStore();
    });
    expect(seen).toBe('ann');
  });

  it('is that of the function which submitted it as a child', async () => {
    const engine = openEngine();
    const parent = engine.submit({ toolName: 'parent' }, ({ submit }) =>
      user.run('ann', () => submit({ toolName: 'child' }, () => user.getStore()).wait()),
    );
    expect(await parent.wait()).toBe('ann');
  });
});
