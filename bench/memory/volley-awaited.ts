import { engineWith } from '../work/engine.ts';
import { FULL_CONTEXTS } from '../work/full-context.ts';
import { noOp } from '../work/no-op.ts';
import type { MemoryContestant } from './queued-tasks.ts';

/** The caller waits for each task, and holds the promises as with p-queue. */
export const contestant: MemoryContestant = {
  name: 'volley, each awaited',
  async run({ count, levels, given }) {
    const engine = engineWith(16);
    engine.pause();
    for (let index = 0; index < count; index++) {
      const handle = engine.submit(FULL_CONTEXTS[levels[index]!]!, noOp);
      given[index] = handle.wait();
    }
    return engine;
  },
};
