import { describe, expect, it } from 'vitest';
import type { Priority } from '../../src/index.ts';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';

describe('the start of executions', () => {
  it('calls those that start together in the order of their priority', async () => {
    const engine = openEngine();
    const calls: string[] = [];
    const priorities: Priority[] = ['low', 'critical', 'background', 'normal', 'high'];
    for (const priority of priorities)
      engine.submit({ toolName: 'call', priority }, () => calls.push(priority));
    await engine.drain();
    expect(calls).toEqual(['critical', 'high', 'normal', 'low', 'background']);
  });

  it('calls equals in the order of their submission', async () => {
    const engine = openEngine({ maxConcurrency: 3 });
    const calls: number[] = [];
    for (let call = 0; call < 12; call++) engine.submit({ toolName: 'call' }, () => calls.push(call));
    await engine.drain();
    expect(calls).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('lets the priority decide about all that is submitted in one go', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 1 });
    const calls: string[] = [];
    engine.submit({ toolName: 'call', priority: 'low' }, () => calls.push('low'));
    clock.skip(5);
    engine.submit({ toolName: 'call', priority: 'high' }, () => calls.push('high'));
    await engine.drain();
    expect(calls).toEqual(['high', 'low']);
  });

  it('stops at a pause and goes on at the resumption, while what runs goes on', async () => {
    const engine = openEngine();
    const running = new HeldTool<string>();
    const waiting = new HeldTool<string>();
    const first = engine.submit({ toolName: 'held' }, running.run);
    await running.started();
    engine.pause();
    const second = engine.submit({ toolName: 'held' }, waiting.run);
    running.finish('went on');
    expect(await first.wait()).toBe('went on');
    await quiet();
    expect(waiting.calls).toBe(0);
    engine.resume();
    await waiting.started();
    waiting.finish('resumed');
    expect(await second.wait()).toBe('resumed');
  });

  it('calls a function once for an attempt, even if the one before timed out before it was called', async () => {
    const { engine, clock } = openTimedEngine({ graceMs: 0, limits: { cpu: 4 } });
    let calls = 0;
    // It uses up the slice, so that what starts behind it has to wait for the next.
    const first = engine.submit({ toolName: 'busy' }, () => clock.skip(15));
    engine.submit({ toolName: 'hopping' }, async () => {
      for (let hop = 0; hop < 50; hop++) await undefined;
      clock.skip(5);
    });
    const retry = { maxRetries: 5, delayMs: 0 };
    const victim = engine.submit(
      { toolName: 'late', dependsOn: [first], timeoutMs: 1, retry },
      () => ++calls,
    );
    await clock.pass(100);
    expect(await victim.wait()).toBe(1);
    const outcome = await victim.outcome();
    expect(outcome.attempts).toBeGreaterThan(1);
    expect(calls).toBe(1);
  });
});
