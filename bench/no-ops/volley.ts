import { engineWith } from '../work/engine.ts';
import { FULL_CONTEXTS } from '../work/full-context.ts';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

/** Everything on for each task, and a handle awaited for each. */
export const contestant: NoOpContestant = {
  name: 'volley',
  async run({ count, concurrency, levels }) {
    const engine = engineWith(concurrency);
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) {
      promises.push(engine.submit(FULL_CONTEXTS[levels[index]!]!, noOp).wait());
    }
    await Promise.all(promises);
    await engine.close();
  },
};
