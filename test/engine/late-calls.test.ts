import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { stayBusyFor } from './support/busy.ts';
import { openEngine } from './support/engine.ts';

describe('a function that is called after others of the same turn, which took their time', () => {
  it('has the whole of its timeout from then on', async () => {
    const engine = openEngine();
    for (const toolName of ['first', 'second'])
      engine.submit({ toolName, priority: 'critical' }, () => stayBusyFor(300));
    await engine.submit({ toolName: 'last', timeoutMs: 500 }, () => nextTurn()).wait();
  });

  it.each(['tools', 'groups'])(
    'counts for a rate of %s from then on, and no part of a millisecond too early',
    async (whose) => {
      const perMs = 20;
      const smallestGap = async () => {
        const engine = openEngine({ [whose]: { rated: { rate: { count: 1, perMs } } } });
        engine.submit({ toolName: 'first', priority: 'critical' }, () => stayBusyFor(50));
        const calls: number[] = [];
        const items = Array.from({ length: 10 }, () => ({
          toolName: 'rated',
          run: () => void calls.push(performance.now()),
        }));
        await engine.submitAll(items, { name: 'rated' }).outcome();
        return Math.min(...calls.slice(1).map((at, index) => at - calls[index]!));
      };
      // A busy machine may stop this process between the engine's look at the clock and the call.
      await expect.poll(smallestGap).toBeGreaterThanOrEqual(perMs);
    },
  );
});
