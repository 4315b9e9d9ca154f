import { expect, test } from 'vitest';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { openRig } from '../support/rig.ts';

const fill = () =>
  defineTool<{ mb: number }, number>({
    name: 'fill',
    isolation: 'process',
    run: ({ mb }) => Buffer.alloc(mb * 2 ** 20, 1).length,
  }) as Tool;

test('what a task used is in its results, and the next process learns from it', async () => {
  const first = await openRig([fill()]);
  await first.ask('add', { id: 'a', function: 'fill', params: { mb: 150 } });
  await first.ask('add', { id: 'b', function: 'echo' });
  await first.ask('start', { wait: true });
  const { text, data } = await first.ask('results', { format: 'detailed' });
  expect(text).toMatch(/a \(fill\): completed in .* with \d+ MB and .* of CPU time: /);
  const [a, b] = data['results'] as Record<string, unknown>[];
  expect(a!['memory_mb']).toBeGreaterThan(150);
  // Without cgroups it is counted in steps of 10 ms.
  expect(a!['cpu_ms']).toBeGreaterThanOrEqual(0);
  expect(b).not.toHaveProperty('memory_mb');
  await first.store.close();

  const second = await openRig([fill()], undefined, first.file);
  await second.ask('add', { batch: 'next', id: 'c', function: 'fill', params: { mb: 1 } });
  await second.ask('start', { batch: 'next', wait: true });
  const [usage] = second.coordinator.engine.statistics().usage;
  expect(usage).toMatchObject({ toolName: 'fill', samples: 2 });
  expect(usage!.claimed!.memoryMb).toBeGreaterThan(150);
});
