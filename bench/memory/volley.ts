import { engineWith } from '../work/engine.ts';
import { FULL_CONTEXTS } from '../work/full-context.ts';
import { noOp } from '../work/no-op.ts';
import type { MemoryContestant } from './queued-tasks.ts';

/** The caller holds a handle for each task, and waits for none of them. */
export const contestant: MemoryContestant = {
  name: 'volley',
  async run({ count, levels, given }) {
    const engine = engineWith(16);
    engine.pause();
    for (let index = 0; index < count; index++) {
      given[index] = engine.submit(FULL_CONTEXTS[levels[index]!]!, noOp);
    }
    return engine;
  },
};
