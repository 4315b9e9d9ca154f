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

  it('counts for a rate from then on, and no part of a millisecond too early', async () => {
    const perMs = 20;
    const engine = openEngine({ tools: { rated: { rate: { count: 1, perMs } } } });
    engine.submit({ toolName: 'first', priority: 'critical' }, () => stayBusyFor(50));
    const calls: number[] = [];
    const items = Array.from({ length: 10 }, () => ({
      toolName: 'rated',
      run: () => void calls.push(performance.now()),
    }));
    await engine.submitAll(items).outcome();
    const gaps = calls.slice(1).map((at, index) => at - calls[index]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(perMs);
  });
});
