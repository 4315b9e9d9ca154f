import { engineWith } from '../work/engine.ts';
import { noOp } from '../work/no-op.ts';
import { PRIORITIES } from '../work/priorities.ts';
import type { MemoryContestant } from './queued-tasks.ts';

/** The caller holds a handle for each task, and waits for none of them. */
export const contestant: MemoryContestant = {
  name: 'volley',
  async run({ count, levels, given }) {
    const engine = engineWith(16);
    engine.pause();
    for (let index = 0; index < count; index++) {
      given[index] = engine.submit(
        {
          toolName: 'no-op',
          priority: PRIORITIES[levels[index]!]!,
          resources: { cpu: 0.5, memoryMb: 10 },
          timeoutMs: 30_000,
          retry: { maxRetries: 3 },
        },
        noOp,
      );
    }
    return engine;
  },
};
