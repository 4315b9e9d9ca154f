import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';

describe('failFast', () => {
  it('cancels the rest of the group at the first failure', async () => {
    const engine = openEngine();
    const failing = new HeldTool();
    const running = new HeldTool();
    const outside = new HeldTool<string>();
    const other = engine.submit({ toolName: 'outside' }, outside.run);
    const group = engine.submitAll(
      [
        { toolName: 'failing', id: 'culprit', run: failing.run },
        { toolName: 'running', run: running.run },
        { toolName: 'pending', dependsOn: ['culprit'], onDependencyFailure: 'run', run: () => {} },
      ],
      { failFast: true },
    );
    const { task } = await running.started();
    const { signal } = task;
    failing.fail(new Error('broken'));
    expect(await group.outcomes()).toMatchObject([
      { status: 'failed' },
      { status: 'cancelled', reason: expect.stringContaining('culprit') },
      { status: 'cancelled', reason: expect.stringContaining('culprit') },
    ]);
    await quiet();
    expect(signal.aborted).toBe(true);
    outside.finish('untouched');
    expect(await other.wait()).toBe('untouched');
  });

  it('does nothing while a retry is left', async () => {
    const engine = openEngine();
    const group = engine.submitAll(
      [
        {
          toolName: 'flaky',
          retry: { maxRetries: 1, delayMs: 1 },
          run: ({ attempt }) => {
            if (attempt === 1) throw new Error('once');
          },
        },
        { toolName: 'quick', run: () => {} },
      ],
      { failFast: true },
    );
    expect(await group.outcome()).toMatchObject({ succeeded: true });
  });

  it('is off unless asked for', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const group = engine.submitAll([
      { toolName: 'fails', run: () => Promise.reject(new Error('broken')) },
      { toolName: 'next', run: () => 'ran all the same' },
    ]);
    expect(await group.outcomes()).toMatchObject([{ status: 'failed' }, { status: 'completed' }]);
  });
});

describe('the time limit of a group', () => {
  it('fails what has not ended by then, whatever it does', async () => {
    const engine = openEngine();
    const tool = new HeldTool();
    const group = engine.submitAll(
      [
        { toolName: 'quick', run: () => 'in time' },
        { toolName: 'held', id: 'held', run: tool.run },
        { toolName: 'pending', dependsOn: ['held'], run: () => {} },
      ],
      { timeoutMs: 500 },
    );
    const { task } = await tool.started();
    expect(await group.outcomes()).toMatchObject([
      { status: 'completed', value: 'in time' },
      { status: 'failed', reason: 'deadline' },
      { status: 'failed', reason: 'deadline' },
    ]);
    expect(task.signal.aborted).toBe(true);
  });

  it('does not outlive the group', async () => {
    const engine = openEngine();
    const first = engine.submitAll([{ toolName: 'quick', run: () => {} }], { name: 'g', timeoutMs: 20 });
    await first.outcome();
    const tool = new HeldTool<void>();
    const second = engine.submitAll([{ toolName: 'held', timeoutMs: 60, run: tool.run }], { name: 'g' });
    expect(await second.outcomes()).toMatchObject([{ reason: 'timeout' }]);
  });
});

describe('a group', () => {
  it('stops starting at a pause and goes on at the resumption, by its handle or by its name', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const group = engine.submitAll(
      [
        { toolName: 'held', id: 'first', run: tool.run },
        { toolName: 'held', id: 'second', dependsOn: ['first'], run: tool.run },
        { toolName: 'held', dependsOn: ['second'], run: tool.run },
      ],
      { name: 'crawl' },
    );
    await tool.started();
    group.pause();
    tool.finish();
    expect(await engine.submit({ toolName: 'outside' }, () => 'goes on').wait()).toBe('goes on');
    await quiet();
    expect(tool.calls).toBe(1);
    group.resume();
    const second = await tool.started(2);
    engine.pause('crawl');
    second.finish();
    await quiet();
    expect(tool.calls).toBe(2);
    engine.resume('crawl');
    await tool.started(3);
    tool.finish();
    expect((await group.outcome()).succeeded).toBe(true);
  });

  it('can be cancelled while it is paused', async () => {
    const engine = openEngine();
    const group = engine.submitAll([{ toolName: 'quick', run: () => {} }], { name: 'crawl' });
    engine.pause('crawl');
    await quiet();
    expect(group.handles[0]!.status).toBe('queued');
    group.cancel('enough');
    expect(await group.outcomes()).toMatchObject([{ status: 'cancelled', reason: 'enough' }]);
    group.cancel('again');
  });

  it('runs no more at once than it may', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const items = Array.from({ length: 5 }, () => ({ toolName: 'held', run: tool.run }));
    const group = engine.submitAll(items, { maxConcurrency: 2 });
    for (let call = 1; call <= 5; call++) {
      const { finish } = await tool.started(call);
      await quiet();
      expect(group.progress().running).toBe(Math.min(2, 6 - call));
      finish();
    }
    expect((await group.outcome()).succeeded).toBe(true);
  });
});
