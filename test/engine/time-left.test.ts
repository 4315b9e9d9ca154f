import { describe, expect, it } from 'vitest';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { gate } from './support/gate.ts';

describe('the time left', () => {
  it('is not known before anything was seen, and nothing when nothing is left', async () => {
    const engine = openEngine();
    expect(engine.timeLeft()).toEqual({ lowMs: 0, expectedMs: 0, highMs: 0 });
    const open = gate();
    const handle = engine.submit({ toolName: 'work' }, () => open.passed);
    expect(engine.timeLeft()).toBeUndefined();
    open.open();
    await handle.wait();
    expect(engine.timeLeft()).toEqual({ lowMs: 0, expectedMs: 0, highMs: 0 });
  });

  it('is learned from what ran before, for everything and for a group', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 2 });
    const work = { toolName: 'work', run: () => clock.sleep(20) };
    const first = engine.submitAll([work, work, work, work]);
    await clock.pass(40);
    await first.outcome();
    engine.pause();
    const small = engine.submitAll([work, work], { name: 'small' });
    const large = engine.submitAll(
      Array.from({ length: 20 }, () => work),
      { name: 'large' },
    );
    expect(small.timeLeft()).toEqual(engine.timeLeft('small'));
    expect(large.timeLeft()!.expectedMs).toBeGreaterThan(3 * small.timeLeft()!.expectedMs);
    expect(engine.timeLeft()!.highMs).toBeGreaterThan(150);
    expect(engine.timeLeft()!.lowMs).toBeGreaterThan(50);
    engine.resume();
    await clock.pass(11 * 20);
    await large.outcome();
    expect(large.timeLeft()).toEqual({ lowMs: 0, expectedMs: 0, highMs: 0 });
  });

  it('is what callers expect where nothing was learned', () => {
    const engine = openEngine({ maxConcurrency: 1 });
    engine.pause();
    const item = { toolName: 'work', estimatedMs: 1000, run: () => undefined };
    const { lowMs, highMs } = engine.submitAll([item, item, item]).timeLeft()!;
    expect(lowMs).toBeLessThan(3000);
    expect(highMs).toBeGreaterThan(3000);
  });

  it('refuses the name of a group that nobody has', () => {
    const engine = openEngine();
    expect(codeOf(thrownBy(() => engine.timeLeft('nobody')))).toBe('UNKNOWN_GROUP');
  });
});
