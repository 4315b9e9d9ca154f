import { describe, expect, it } from 'vitest';
import { openTimedEngine } from './support/engine.ts';
import { HeldTool } from './support/held-tool.ts';

describe('a function that is called after others of the same turn, which took their time', () => {
  it('has the whole of its timeout from then on', async () => {
    const { engine, clock } = openTimedEngine();
    const tool = new HeldTool<string>();
    for (const toolName of ['first', 'second'])
      engine.submit({ toolName, priority: 'critical' }, () => clock.skip(300));
    const last = engine.submit({ toolName: 'last', timeoutMs: 500 }, tool.run);
    await tool.started();
    await clock.pass(499);
    expect(last.status).toBe('running');
    await clock.pass(1);
    expect(last.status).toBe('failed');
  });

  it.each(['tools', 'groups'])(
    'counts for a rate of %s from then on, and no part of a millisecond too early',
    async (whose) => {
      const perMs = 20;
      const { engine, clock } = openTimedEngine({ [whose]: { rated: { rate: { count: 1, perMs } } } });
      engine.submit({ toolName: 'first', priority: 'critical' }, () => clock.skip(50));
      const calls: number[] = [];
      const items = Array.from({ length: 10 }, () => ({
        toolName: 'rated',
        run: () => void calls.push(clock.now()),
      }));
      const group = engine.submitAll(items, { name: 'rated' });
      await clock.pass(1000);
      expect((await group.outcome()).succeeded).toBe(true);
      // The first may have been called up to a millisecond after the moment that the clock shows.
      expect(calls).toEqual(items.map((_, index) => 50 + index * (perMs + 1)));
    },
  );
});
