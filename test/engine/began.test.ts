import { expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';

it('a function that had to wait for its place has its whole time from where it began', async () => {
  const engine = openEngine();
  const started = performance.now();
  const handle = engine.submit({ toolName: 'delegate', timeoutMs: 1000 }, async ({ began, signal }) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    began();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  expect(await handle.outcome()).toMatchObject({ status: 'failed', reason: 'timeout' });
  expect(performance.now() - started).toBeGreaterThanOrEqual(1490);
});
