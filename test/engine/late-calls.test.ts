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

it('a function that submits its successor as a child is not kept by it', async () => {
  const engine = openEngine({ retainSettled: 10 });
  const poll =
    (left: number): Parameters<typeof engine.submit>[1] =>
    ({ submit }) => {
      if (left > 0) submit({ toolName: 'poll', id: `poll-${left}` }, poll(left - 1));
    };
  await engine.submit({ toolName: 'poll' }, poll(3)).wait();
  await engine.drain();
  // Not seen from outside but as memory: a child that has settled must not lead to its parent any more.
  const last = engine.handle('poll-1') as unknown as { extras: { parent: unknown } };
  expect(last.extras.parent).toBeUndefined();
});

it('a child without a priority of its own is as urgent as the function that submits it', async () => {
  const engine = openEngine({ maxConcurrency: 1 });
  const order: string[] = [];
  const parent = engine.submit({ toolName: 'parent', priority: 'critical' }, ({ submit }) => {
    for (const id of ['a', 'b'])
      engine.submit({ toolName: 'other', id, priority: 'high' }, () => void order.push(id));
    return submit({ toolName: 'child', id: 'child' }, () => void order.push('child')).wait();
  });
  await parent.wait();
  await engine.drain();
  expect(order).toEqual(['child', 'a', 'b']);
});

it('those who wait for a lock are counted as queued', async () => {
  const engine = openEngine();
  for (let index = 0; index < 4; index++)
    engine.submit({ toolName: 'write', resources: { exclusive: ['db'] } }, () => nextTurn());
  await nextTurn();
  const counted = engine.queued();
  expect(counted.normal).toBe(engine.statistics().counts.queued);
  await engine.drain();
});
