import { expect, it } from 'vitest';
import { openTimedEngine } from './support/engine.ts';
import { HeldTool } from './support/held-tool.ts';

it('a function that had to wait for its place has its whole time from where it began', async () => {
  const { engine, clock } = openTimedEngine();
  const tool = new HeldTool();
  const handle = engine.submit({ toolName: 'delegate', timeoutMs: 1000 }, tool.run);
  const { task } = await tool.started();
  await clock.pass(500);
  task.began();
  await clock.pass(999);
  expect(handle.status).toBe('running');
  await clock.pass(1);
  expect(await handle.outcome()).toMatchObject({ status: 'failed', reason: 'timeout', durationMs: 1000 });
});
