import { describe, expect, it } from 'vitest';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';

describe('cancelling a group', () => {
  it('ends all of it as asked, and nothing else', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const outside = new HeldTool<string>();
    const group = engine.submitAll(
      [
        { toolName: 'held', id: 'a', run: tool.run },
        { toolName: 'next', id: 'b', dependsOn: ['a'], run: () => {} },
      ],
      { name: 'crawl' },
    );
    const joined = engine.submit({ toolName: 'joined', group: 'crawl', dependsOn: ['a'] }, () => {});
    const other = engine.submit({ toolName: 'other' }, outside.run);
    const { task } = await tool.started();
    engine.cancelGroup('crawl', 'enough');
    expect(task.signal.aborted).toBe(true);
    expect(await group.outcomes()).toMatchObject([
      { status: 'cancelled', reason: 'enough' },
      { status: 'cancelled', reason: 'enough' },
    ]);
    expect(joined.status).toBe('cancelled');
    outside.finish('untouched');
    expect(await other.wait()).toBe('untouched');
  });

  it('that does not exist is an error', () => {
    const engine = openEngine();
    expect(codeOf(thrownBy(() => engine.cancelGroup('nobody')))).toBe('UNKNOWN_GROUP');
  });
});

describe('cancelling all', () => {
  it('ends everything as asked, in whatever group, and leaves the engine open', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const tool = new HeldTool<void>();
    const running = engine.submit({ toolName: 'held' }, tool.run);
    await tool.started();
    const queued = engine.submit({ toolName: 'queued' }, () => {});
    const pending = engine.submit({ toolName: 'pending', dependsOn: [queued] }, () => {});
    const grouped = engine.submit({ toolName: 'grouped', group: 'g', dependsOn: [queued] }, () => {});
    engine.cancelAll('shutting down');
    const outcomes = await Promise.all([running, queued, pending, grouped].map((handle) => handle.outcome()));
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'cancelled', reason: 'shutting down' });
    tool.finish();
    expect(await engine.submit({ toolName: 'after' }, () => 'open').wait()).toBe('open');
  });

  it('when very many are about to be called calls none of them', async () => {
    const count = 10_000;
    const limits = { cpu: count, memoryMb: count * 100, ioOperations: count };
    // Several times, because code that the machine has learned goes deeper into a recursion than new code.
    for (let round = 0; round < 6; round++) {
      const { engine, clock } = openTimedEngine({ maxConcurrency: count, limits });
      let calls = 0;
      const run = () => void calls++;
      // What is started behind it has to wait for the next slice.
      const first = engine.submit({ toolName: 'busy' }, () => clock.skip(20));
      const items = Array.from({ length: count }, () => ({ toolName: 'quick', dependsOn: [first], run }));
      const group = engine.submitAll(items);
      await first.wait();
      engine.cancelAll('at once');
      expect((await group.outcome()).counts.cancelled).toBe(count);
      await engine.drain();
      expect(calls).toBe(0);
    }
  });
});
