import { expect, test } from 'vitest';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { simulate } from '../../src/core/simulate.ts';
import { ParallelExecutionEngine } from '../../src/engine/engine.ts';
import { ResourceManager } from '../../src/index.ts';

test('a name that means nothing is refused wherever options and limits are given, with the one that was meant', async () => {
  const engine = new ParallelExecutionEngine();
  // As from JavaScript, where nobody checks types.
  const given = (options: object) => options as never;
  const refusals: [() => unknown, { field: string; nearest: string | undefined }][] = [
    [
      () => new ParallelExecutionEngine(given({ maxConcurency: 4 })),
      { field: 'maxConcurency', nearest: 'maxConcurrency' },
    ],
    [
      () => new ParallelExecutionEngine(given({ limits: { memory: 4 } })),
      { field: 'memory', nearest: 'memoryMb' },
    ],
    [
      () => new ParallelExecutionEngine(given({ limits: { concurrency: 4 } })),
      { field: 'concurrency', nearest: undefined },
    ],
    [
      () => new ParallelExecutionEngine(given({ tools: { fetch: { maxConcurrent: 2 } } })),
      { field: 'maxConcurrent', nearest: 'maxConcurrency' },
    ],
    [
      () => engine.setLimits(given({ groups: { g: { rate: { count: 1, perMs: 1000, burst: 5 } } } })),
      { field: 'burst', nearest: undefined },
    ],
    [() => engine.setLimits(given({ graceMs: 4 })), { field: 'graceMs', nearest: undefined }],
    [() => engine.submitAll([], given({ timeout: 4 })), { field: 'timeout', nearest: 'timeoutMs' }],
    [() => engine.close(given({ force: true })), { field: 'force', nearest: undefined }],
    [() => simulate([], given({ maxConcurrency: 4 })), { field: 'maxConcurrency', nearest: 'concurrency' }],
    [() => simulate([], {}, given({ sed: 4 })), { field: 'sed', nearest: 'seed' }],
    [() => new ResourceManager(given({ cpus: 4 })), { field: 'cpus', nearest: 'cpu' }],
    [
      () => new ParallelToolCoordinator(given({ maxConcurrency: 4 })),
      { field: 'maxConcurrency', nearest: undefined },
    ],
  ];
  for (const [wrong, details] of refusals)
    expect(wrong, details.field).toThrow(expect.objectContaining({ code: 'INVALID_VALUE', details }));
  // Nothing was changed, and it goes on.
  await expect(engine.submit({ toolName: 'x' }, () => 1).wait()).resolves.toBe(1);
});
