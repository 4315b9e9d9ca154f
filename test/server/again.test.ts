import { syncBuiltinESMExports } from 'node:module';
import perfHooks from 'node:perf_hooks';
import { queryObjects } from 'node:v8';
import { z } from '@hono/zod-openapi';
import { expect, onTestFinished, test, vi } from 'vitest';
import { serve } from './support/serve.ts';

test('servers that were closed leave nothing behind, however many there were', async () => {
  const made = vi.spyOn(perfHooks, 'monitorEventLoopDelay');
  syncBuiltinESMExports();
  onTestFinished(() => {
    made.mockRestore();
    syncBuiltinESMExports();
  });
  const round = async () => {
    const { server, fetch } = await serve();
    for (const path of ['/openapi.json', '/metrics']) expect(await (await fetch(path)).text()).toBeTruthy();
    await server.close();
  };
  await round();
  const before = queryObjects(z.ZodPipe, { format: 'count' });
  for (let more = 0; more < 3; more++) await round();
  // Connections that are just being closed may still hold on to the last.
  // Each look goes through the whole memory.
  const count = () => queryObjects(z.ZodPipe, { format: 'count' });
  await expect.poll(count, { interval: 500 }).toBeLessThanOrEqual(before);
  // Node keeps each for ever.
  expect(made.mock.calls.length).toBeLessThanOrEqual(1);
});
