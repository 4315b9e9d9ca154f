import { engineWith } from '../work/engine.ts';
import { noOp } from '../work/no-op.ts';
import { PRIORITIES } from '../work/priorities.ts';
import type { DrainContestant } from './drain.ts';

export const contestant: DrainContestant = {
  name: 'volley',
  async run({ count, concurrency, levels, submitted }) {
    const engine = engineWith(concurrency);
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) {
      const handle = engine.submit(
        {
          toolName: 'no-op',
          priority: PRIORITIES[levels[index]!]!,
          resources: { cpu: 0.5, memoryMb: 10 },
          timeoutMs: 30_000,
          retry: { maxRetries: 3 },
        },
        noOp,
      );
      promises.push(handle.wait());
    }
    const all = Promise.all(promises);
    submitted();
    await all;
  },
};
