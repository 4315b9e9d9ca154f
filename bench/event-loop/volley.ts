import { engineWith } from '../work/engine.ts';
import { FULL_CONTEXTS } from '../work/full-context.ts';
import { noOp } from '../work/no-op.ts';
import type { DrainContestant } from './drain.ts';

export const contestant: DrainContestant = {
  name: 'volley',
  async run({ count, concurrency, levels, submitted }) {
    const engine = engineWith(concurrency);
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) {
      const handle = engine.submit(FULL_CONTEXTS[levels[index]!]!, noOp);
      promises.push(handle.wait());
    }
    const all = Promise.all(promises);
    submitted();
    await all;
  },
};
