import { expect, test } from 'vitest';
import type { VolleyConfig } from '../../src/config/config.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { openTestCoordinator } from './support.ts';

/**
 * Fills memory in a process of its own. Where no cgroup limits it, its use is sampled, so a first attempt that is to be
 * killed holds its memory until then.
 */
function hog(properties: object = {}): Tool {
  return defineTool<{ mb: number; isHeld?: boolean }, number>({
    name: 'hog',
    isolation: 'process',
    idempotent: true,
    retry: { maxRetries: 3, delayMs: 0 },
    ...properties,
    run: async ({ mb, isHeld }, { attempt }) => {
      const held = Buffer.alloc(mb * 2 ** 20, 1);
      if (isHeld && attempt === 1) await new Promise((resolve) => setTimeout(resolve, 60_000));
      return held.length;
    },
  }) as Tool;
}

const withProcesses =
  (change: Partial<VolleyConfig['processes']>) =>
  (config: VolleyConfig): VolleyConfig => ({ ...config, processes: { ...config.processes, ...change } });

test('what calls in processes use is measured, and stands next to what they claim', async () => {
  const { coordinator } = openTestCoordinator();
  coordinator.register(hog());
  const call = { name: 'hog', arguments: { mb: 150 } };
  expect(await coordinator.executeSingle(call)).toMatchObject({ status: 'completed' });
  const [first] = coordinator.engine.statistics().usage;
  expect(first).toMatchObject({
    toolName: 'hog',
    samples: 1,
    claimed: { cpu: 0.1, memoryMb: 100, isLearned: true },
  });
  expect(first!.cpu!.max).toBeGreaterThan(0);
  // It claims nothing, so the next one needs what was used. A call without a cgroup may end before it is sampled.
  const usageOfNext = async () => {
    expect(await coordinator.executeSingle(call)).toMatchObject({ status: 'completed' });
    return coordinator.engine.statistics().usage[0]!;
  };
  await expect.poll(async () => (await usageOfNext()).memoryMb!.max).toBeGreaterThan(150);
  await expect.poll(async () => (await usageOfNext()).claimed!.memoryMb).toBeGreaterThan(150);
});

test('what is measured is not used if that is switched off', async () => {
  const { coordinator } = openTestCoordinator(withProcesses({ learnUsage: false }));
  coordinator.register(hog());
  for (let index = 0; index < 2; index++)
    await coordinator.executeSingle({ name: 'hog', arguments: { mb: 150 } });
  expect(coordinator.engine.statistics().usage).toMatchObject([
    { toolName: 'hog', samples: 2, claimed: { cpu: 0.1, memoryMb: 100, isLearned: false } },
  ]);
});

test('a call that is killed for memory is retried with twice as much, up to the limit', async () => {
  const { coordinator } = openTestCoordinator();
  coordinator.register(hog({ resources: { memoryMb: 128 } }));
  const result = await coordinator.executeSingle({ name: 'hog', arguments: { mb: 150, isHeld: true } });
  expect(result).toMatchObject({ status: 'completed', attempts: 2 });
  const { amounts } = coordinator.engine.allocationHistory().at(-1)!;
  expect(amounts.memoryMb).toBe(256);
});

test.each([
  ['the limit of every call is reached', {}, { memoryMb: 128 }],
  ['the tool has a limit of its own', { limits: { memoryMb: 128 } }, {}],
  ['it may not run twice', { idempotent: false }, {}],
])('it is not retried if %s', async (_, properties, limits) => {
  const { coordinator } = openTestCoordinator((config) =>
    withProcesses({ limits: { ...config.processes.limits, ...limits } })(config),
  );
  coordinator.register(hog({ resources: { memoryMb: 128 }, ...properties }));
  const result = await coordinator.executeSingle({ name: 'hog', arguments: { mb: 150, isHeld: true } });
  expect(result).toMatchObject({ status: 'failed', reason: 'memory', attempts: 1 });
});

test('commands of the shell are measured, too', async () => {
  const { coordinator } = openTestCoordinator((config) => ({
    ...config,
    shell: { ...config.shell, enabled: true },
  }));
  await coordinator.executeSingle({ name: 'shell', arguments: { command: 'sleep 0.05; echo done' } });
  const [usage] = coordinator.engine.statistics().usage;
  expect(usage).toMatchObject({ toolName: 'shell', samples: 1, claimed: { isLearned: false } });
});
