import { expect, test } from 'vitest';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { simulate } from '../../src/core/simulate.ts';
import { ParallelExecutionEngine } from '../../src/engine/engine.ts';
import { ResourceManager } from '../../src/index.ts';

test('a name that means nothing is refused wherever options and limits are given, with the one that was meant', async () => {
  const engine = new ParallelExecutionEngine();
  // As from JavaScript, where nobody checks types.
  const given = (options: object) => options as never;
  const refusals: [() => unknown, string][] = [
    [
      () => new ParallelExecutionEngine(given({ maxConcurency: 4 })),
      '"maxConcurency" is no option of an engine; did you mean "maxConcurrency"?',
    ],
    [
      () => new ParallelExecutionEngine(given({ limits: { memory: 4 } })),
      '"memory" is no limit of a resource; did you mean "memoryMb"?',
    ],
    [
      () => new ParallelExecutionEngine(given({ limits: { concurrency: 4 } })),
      '"concurrency" is no limit of a resource; there is cpu, memoryMb, ioOperations, networkOperations.',
    ],
    [
      () => new ParallelExecutionEngine(given({ tools: { fetch: { maxConcurrent: 2 } } })),
      '"maxConcurrent" is no limit of a tool; did you mean "maxConcurrency"?',
    ],
    [
      () => engine.setLimits(given({ groups: { g: { rate: { count: 1, perMs: 1000, burst: 5 } } } })),
      '"burst" is no part of a rate; there is count, perMs.',
    ],
    [
      () => engine.setLimits(given({ graceMs: 4 })),
      '"graceMs" is no limit of an engine that can be changed; there is maxConcurrency, limits, tools, groups.',
    ],
    [
      () => engine.submitAll([], given({ timeout: 4 })),
      '"timeout" is no option of a group; did you mean "timeoutMs"?',
    ],
    [() => engine.close(given({ force: true })), '"force" is no option of close; there is cancel.'],
    [
      () => simulate([], given({ maxConcurrency: 4 })),
      '"maxConcurrency" is no limit of a resource; did you mean "concurrency"?',
    ],
    [() => simulate([], {}, given({ sed: 4 })), '"sed" is no option of a simulation; did you mean "seed"?'],
    [() => new ResourceManager(given({ cpus: 4 })), '"cpus" is no limit of a resource; did you mean "cpu"?'],
    [
      () => new ParallelToolCoordinator(given({ maxConcurrency: 4 })),
      '"maxConcurrency" is no option of a coordinator; there is config.',
    ],
  ];
  for (const [wrong, message] of refusals)
    expect(wrong, message).toThrow(expect.objectContaining({ code: 'INVALID_VALUE', message }));
  // Nothing was changed, and it goes on.
  await expect(engine.submit({ toolName: 'x' }, () => 1).wait()).resolves.toBe(1);
});
