import { expect, test } from 'vitest';
import { defaultConfig, type VolleyConfig } from '../../src/config/config.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { RESOURCE_TABLE } from '../../src/core/resource-table.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { HeldCalls, openRig } from './support/rig.ts';

const withGpus =
  (gpu: number) =>
  (config: VolleyConfig): VolleyConfig => ({
    ...config,
    limits: { ...config.limits, resources: { gpu } },
  });

test('tasks that need a named resource wait for it, and status says so', async () => {
  const held = new HeldCalls();
  const rig = await openRig([held.tool()], withGpus(1));
  const tasks = ['a', 'b'].map((id) => ({
    id,
    function: 'held',
    params: { key: id },
    resources: { gpu: 1 },
  }));
  await rig.ask('add_batch', { tasks });
  await rig.ask('start');
  await held.started('a');
  expect((await rig.ask('status', { detailed: true })).text).toContain('b needs 1 gpu, 0 of 1 are free');
  expect(held.begun).toEqual(['a']);
  for (const { id } of tasks) held.finish(id);
  await rig.ask('wait');
  expect(await rig.standing()).toEqual(['a completed', 'b completed']);
});

test.each([
  [{ gpus: 1 }, 'UNKNOWN_RESOURCE', { field: 'gpus', nearest: 'gpu' }],
  [{ license: 1 }, 'UNKNOWN_RESOURCE', { field: 'license', nearest: undefined }],
  [{ gpu: 2 }, 'IMPOSSIBLE_DEMAND', { resource: 'gpu', demand: 2, limit: 1 }],
  [{ memory: 5 }, 'INVALID_REQUEST', {}],
  [{ exclusiv: ['db'] }, 'INVALID_REQUEST', {}],
  [{ gpu: '1' }, 'INVALID_REQUEST', {}],
  [{ gpu: -1 }, 'INVALID_REQUEST', { field: 'resources.gpu' }],
  [{ gpu: 1e10 }, 'INVALID_REQUEST', { field: 'resources.gpu' }],
])('a task cannot ask for %j', async (resources, code, details) => {
  const rig = await openRig([], withGpus(1));
  const { data } = await rig.executor.handle({ action: 'add', function: 'echo', resources });
  expect(data).toMatchObject({ code, ...details });
});

test('an unknown resource is refused with the known ones, in the names of tasks', async () => {
  const rig = await openRig([], withGpus(1));
  const resources = { license: 1 };
  const { data } = await rig.executor.handle({ action: 'add', function: 'echo', resources });
  expect(data['known']).toEqual([
    ...RESOURCE_TABLE.map(({ wireNeed }) => wireNeed),
    'exclusive',
    'shared',
    'gpu',
  ]);
});

test('a tool that needs an undeclared resource is refused, also if its needs depend on the arguments', async () => {
  const fixed = defineTool({ name: 'fixed', resources: { gpu: 1 }, run: () => 1 }) as Tool;
  const computed = defineTool({ name: 'computed', resources: () => ({ gpu: 1 }), run: () => 1 }) as Tool;
  const rig = await openRig([fixed, computed]);
  for (const name of ['fixed', 'computed']) {
    const [result] = await rig.coordinator.executeParallel([{ name }]);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'UNKNOWN_RESOURCE' } });
    const { data } = await rig.executor.handle({ action: 'add', function: name });
    expect(data).toMatchObject({ code: 'UNKNOWN_RESOURCE', field: 'gpu' });
  }
});

test('a call can override what its tool needs of a named resource', async () => {
  const tool = defineTool({ name: 'train', resources: { gpu: 2 }, run: () => 1 }) as Tool;
  const rig = await openRig([tool], withGpus(1));
  const [wrong, right] = await rig.coordinator.executeParallel([
    { name: 'train' },
    { name: 'train', resources: { gpu: 1 } },
  ]);
  expect(wrong).toMatchObject({ status: 'failed', error: { code: 'IMPOSSIBLE_DEMAND' } });
  expect(right).toMatchObject({ status: 'completed' });
});

test('a changed configuration changes what there is, and what was declared in code stays', async () => {
  const config = defaultConfig();
  await using coordinator = new ParallelToolCoordinator({
    config: withGpus(1)(config),
    resources: { license: 5 },
  });
  const limits = () => {
    const { gpu, license } = coordinator.engine.statistics().utilization;
    return [gpu?.limit, license?.limit];
  };
  expect(limits()).toEqual([1, 5]);
  coordinator.applyLimits(withGpus(3)(config));
  expect(limits()).toEqual([3, 5]);
  coordinator.applyLimits(config);
  expect(limits()).toEqual([0, 5]);
});
