import { describe, expect, it } from 'vitest';
import { amount } from '../support/depth.ts';
import { openEngine } from './support/engine.ts';

const COUNT = amount({ quick: 50_000, deep: 200_000 });

describe('a drain of very many small tasks', () => {
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
