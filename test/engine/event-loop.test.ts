import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';

const COUNT = 200_000;
/** The goal is 50 ms; a busy machine may take the processor away for a while. */
const LONGEST_MS = 400;

describe('a drain of very many small tasks', () => {
  it('leaves the event loop to others again and again', async () => {
    const engine = openEngine({ maxConcurrency: 16 });
    const run = () => {};
    const group = engine.submitAll(Array.from({ length: COUNT }, () => ({ toolName: 'quick', run })));
    let ticks = 0;
    let longestMs = 0;
    let last = performance.now();
    let isDone = false;
    const tick = () => {
      const now = performance.now();
      longestMs = Math.max(longestMs, now - last);
      last = now;
      ticks++;
      if (!isDone) setImmediate(tick);
    };
    setImmediate(tick);
    await group.outcome();
    isDone = true;
    expect(engine.statistics().counts.completed).toBe(COUNT);
    expect(ticks).toBeGreaterThan(5);
    expect(longestMs).toBeLessThan(LONGEST_MS);
  });

  it('lets timers fire while it goes on', async () => {
    const engine = openEngine({ maxConcurrency: 16 });
    let left = COUNT;
    let leftAtTimer = 0;
    setTimeout(() => {
      leftAtTimer = left;
    }, 1);
    const run = () => void left--;
    await engine.submitAll(Array.from({ length: COUNT }, () => ({ toolName: 'quick', run }))).outcome();
    expect(leftAtTimer).toBeGreaterThan(0);
  });
});
