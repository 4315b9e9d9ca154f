import { expect, test } from 'vitest';
import { inSlices } from '../../../src/tools/analysis/slices.ts';

/** Takes its time over each step, without end unless told. */
function* slowWork(steps = Number.POSITIVE_INFINITY): Generator<number, string> {
  for (let step = 1; step <= steps; step++) {
    const end = performance.now() + 3;
    while (performance.now() < end);
    yield step;
  }
  return 'done';
}

test('gives back what the work returns', async () => {
  expect(await inSlices(slowWork(0), new AbortController().signal, () => {})).toBe('done');
});

test('lets other things happen between two slices, and tells how far it is', async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const reported: number[] = [];
  await inSlices(slowWork(30), new AbortController().signal, (step) => reported.push(step));
  clearInterval(timer);
  expect(ticks).toBeGreaterThan(2);
  expect(reported.length).toBeGreaterThan(2);
  expect(reported).toEqual([...reported].sort((a, b) => a - b));
});

test('stops between two slices when it is told to, and closes the work', async () => {
  const controller = new AbortController();
  const work = slowWork();
  const stopped = new Error('enough');
  await expect(
    inSlices(work, controller.signal, (step) => step > 5 && controller.abort(stopped)),
  ).rejects.toBe(stopped);
  expect(work.next()).toEqual({ done: true, value: undefined });
});

test('fails with what the work throws', async () => {
  // biome-ignore lint/correctness/useYield: it fails before it could.
  function* broken(): Generator<number, never> {
    throw new Error('broken');
  }
  await expect(inSlices(broken(), new AbortController().signal, () => {})).rejects.toThrow('broken');
});
