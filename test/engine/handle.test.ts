import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { codeOf, rejectionOf } from './support/errors.ts';
import { quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';

describe('an execution handle', () => {
  it('gives the value of a function, whether it returns it at once or promises it', async () => {
    const engine = openEngine();
    const direct = engine.submit({ toolName: 'direct' }, () => 1);
    const promised = engine.submit({ toolName: 'promised' }, async () => 'two');
    expect([await direct.wait(), await promised.wait()]).toEqual([1, 'two']);
  });

  it('follows a value that is only like a promise', async () => {
    const engine = openEngine();
    const thenable: PromiseLike<number> = Promise.resolve(3);
    const handle = engine.submit({ toolName: 'thenable' }, () => thenable);
    expect(await handle.wait()).toBe(3);
  });

  it('never calls the function before submit has returned', async () => {
    const engine = openEngine();
    let isCalled = false;
    const handle = engine.submit({ toolName: 'later' }, () => {
      isCalled = true;
    });
    expect(isCalled).toBe(false);
    await handle.wait();
    expect(isCalled).toBe(true);
  });

  it('tells the status at each moment', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const tool = new HeldTool<string>();
    const first = engine.submit({ toolName: 'held' }, tool.run);
    const second = engine.submit({ toolName: 'next', dependsOn: [first] }, () => {});
    expect([first.status, second.status]).toEqual(['queued', 'pending']);
    await tool.started();
    expect([first.status, second.status]).toEqual(['running', 'pending']);
    tool.finish('done');
    await second.wait();
    expect([first.status, second.status]).toEqual(['completed', 'completed']);
  });

  it('knows its tool and its id, and is found by that id', () => {
    const engine = openEngine();
    const named = engine.submit({ toolName: 'fetch', id: 'page-1' }, () => {});
    const unnamed = engine.submit({ toolName: 'fetch' }, () => {});
    expect([named.id, named.toolName]).toEqual(['page-1', 'fetch']);
    expect(engine.handle('page-1')).toBe(named);
    expect(engine.handle(unnamed.id)).toBe(unnamed);
    expect(engine.handle('nobody')).toBeUndefined();
  });

  it('answers after the engine has forgotten the id', async () => {
    const engine = openEngine({ retainSettled: 1 });
    const first = engine.submit({ toolName: 'quick', id: 'first' }, () => 1);
    await engine.submit({ toolName: 'quick', dependsOn: [first] }, () => 2).wait();
    expect(engine.handle('first')).toBeUndefined();
    expect(first.status).toBe('completed');
    expect(await first.wait()).toBe(1);
    expect(first.cancel()).toEqual({ cancelled: false, status: 'completed' });
  });
});

describe('wait()', () => {
  it('throws what the function threw, the very same object', async () => {
    const engine = openEngine();
    const error = new RangeError('out of reach');
    const thrown = engine.submit({ toolName: 'throws' }, () => {
      throw error;
    });
    const rejected = engine.submit({ toolName: 'rejects' }, () => Promise.reject(error));
    expect(await rejectionOf(thrown.wait())).toBe(error);
    expect(await rejectionOf(rejected.wait())).toBe(error);
  });

  it('throws what is no error unchanged, too', async () => {
    const engine = openEngine();
    for (const thrown of [null, 0, '', 'text', { code: 7 }]) {
      const handle = engine.submit({ toolName: 'throws' }, () => Promise.reject(thrown));
      expect(await rejectionOf(handle.wait())).toBe(thrown);
    }
  });

  it('has an error to throw even for a function that throws undefined', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'throws' }, () => Promise.reject(undefined));
    const error = await rejectionOf(handle.wait());
    expect(codeOf(error)).toBe('EXECUTION_FAILED');
    expect(String(error)).toContain('exec-1 (throws) threw undefined');
    expect(await handle.outcome()).toMatchObject({ status: 'failed', reason: 'error', error });
  });

  it('can be called by many, before and after the end', async () => {
    const engine = openEngine();
    const tool = new HeldTool<string>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const early = [handle.wait(), handle.wait(), handle.wait()];
    await tool.started();
    early.push(handle.wait());
    tool.finish('value');
    expect(await Promise.all(early)).toEqual(['value', 'value', 'value', 'value']);
    expect(await Promise.all([handle.wait(), handle.wait()])).toEqual(['value', 'value']);
  });

  it('gives every caller the error, before and after the end', async () => {
    const engine = openEngine();
    const tool = new HeldTool();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const early = [rejectionOf(handle.wait()), rejectionOf(handle.wait())];
    await tool.started();
    const error = new Error('broken');
    tool.fail(error);
    expect(await Promise.all(early)).toEqual([error, error]);
    expect(await rejectionOf(handle.wait())).toBe(error);
  });

  it('raises no unhandled rejection when nobody waits for something that failed', async () => {
    const unhandled: unknown[] = [];
    const listen = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', listen);
    try {
      const engine = openEngine();
      const failed = engine.submit({ toolName: 'rejects' }, () => Promise.reject(new Error('unseen')));
      engine.submit({ toolName: 'skipped', dependsOn: [failed] }, () => {});
      engine.submit({ toolName: 'cancelled' }, () => {}).cancel();
      engine.submitAll([{ toolName: 'rejects', run: () => Promise.reject(new Error('unseen')) }]);
      await engine.drain();
      await failed.outcome();
      await quiet();
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', listen);
    }
  });
});
