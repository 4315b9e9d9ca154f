import { expect, test, vi } from 'vitest';
import type { BatchView } from '../../../src/batch/view.ts';
import { BatchProgress } from '../../../src/mcp/server/wait-for-end.ts';

function view(progress: number, running = 1): BatchView {
  const completed = Math.floor(progress * 4);
  const counts = { open: 4 - completed - running, running, completed, failed: 0, cancelled: 0, skipped: 0 };
  return { progress, total: 4, counts } as unknown as BatchView;
}

test('every notification tells of more than the one before, also as a sign of life', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const told: [number, number, string][] = [];
    const progress = new BatchProgress(async (...args) => void told.push(args));
    for (const share of [0, 0, 0.3, 0.25, 0.3]) await progress.update(view(share));
    vi.advanceTimersByTime(10_001);
    await progress.update(view(0.3));
    await progress.update(view(0.3));
    await progress.update(view(1, 0));
    vi.advanceTimersByTime(10_001);
    await progress.update(view(1, 0));
    expect(told).toEqual([
      [0, 4, '0 of 4 completed, 1 running'],
      [1.2, 4, '1 of 4 completed, 1 running'],
      [expect.closeTo(1.201, 6), 4, '1 of 4 completed, 1 running'],
      [4, 4, '4 of 4 completed'],
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test('a client that takes long is not sent more meanwhile, and one that is gone harms nothing', async () => {
  let fail: (error: Error) => void = () => undefined;
  const told: number[] = [];
  const progress = new BatchProgress((value) => {
    told.push(value);
    return new Promise((_, reject) => {
      fail = reject;
    });
  });
  const first = progress.update(view(0));
  await progress.update(view(0.5));
  expect(told).toEqual([0]);
  fail(new Error('gone'));
  await first;
  const second = progress.update(view(0.75));
  expect(told).toEqual([0, 3]);
  fail(new Error('gone'));
  await second;
});
