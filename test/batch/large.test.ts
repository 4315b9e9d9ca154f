import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import { openRig } from './support/rig.ts';

it('a batch of 100,000 tasks is added at once, run, asked about and exported', {
  timeout: 300_000,
}, async () => {
  const noop = defineTool({ name: 'noop', idempotent: true, run: () => 'done' });
  const { ask, executor, folder } = await openRig([noop]);
  const tasks = Array.from({ length: 100_000 }, () => ({ function: 'noop' }));
  expect(await executor.handle({ action: 'add_batch', tasks: [...tasks, ...tasks] })).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining('at most 100000 entries') },
  });
  const added = await ask('add_batch', { tasks });
  expect(added.data).toMatchObject({ added: 100_000, counts: { open: 100_000 } });
  expect(added.text.length).toBeLessThan(500);
  await ask('start', { max_concurrent: 64 });
  expect((await ask('status', { detailed: true })).data).toMatchObject({ state: 'running', total: 100_000 });
  expect((await ask('wait')).data).toMatchObject({ succeeded: true });
  await ask('export', { format: 'csv', output_file: 'all.csv' });
  expect(statSync(join(folder, 'all.csv')).size).toBeGreaterThan(5_000_000);
});
