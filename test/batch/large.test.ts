import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import { amount } from '../support/depth.ts';
import { openRig } from './support/rig.ts';

const TASKS = amount({ quick: 10_000, deep: 100_000 });

it('a large batch is added at once, run, asked about and exported', {
  timeout: 300_000,
}, async () => {
  const noop = defineTool({ name: 'noop', idempotent: true, run: () => 'done' });
  const { ask, executor, folder } = await openRig([noop]);
  const tasks = Array.from({ length: TASKS }, () => ({ function: 'noop' }));
  expect(await executor.handle({ action: 'add_batch', tasks: Array(100_001).fill(tasks[0]) })).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining('at most 100000 entries') },
  });
  const added = await ask('add_batch', { tasks });
  expect(added.data).toMatchObject({ added: TASKS, counts: { open: TASKS } });
  expect(added.text.length).toBeLessThan(500);
  await ask('start', { max_concurrent: 64 });
  expect((await ask('status', { detailed: true })).data).toMatchObject({ state: 'running', total: TASKS });
  expect((await ask('wait')).data).toMatchObject({ succeeded: true });
  await ask('export', { format: 'csv', output_file: 'all.csv' });
  expect(statSync(join(folder, 'all.csv')).size).toBeGreaterThan(50 * TASKS);
});
