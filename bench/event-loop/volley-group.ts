import { engineWith } from '../work/engine.ts';
import { noOp } from '../work/no-op.ts';
import { PRIORITIES } from '../work/priorities.ts';
import type { DrainContestant } from './drain.ts';

export const contestant: DrainContestant = {
  name: 'volley submitAll',
  async run({ count, concurrency, levels, submitted }) {
    const engine = engineWith(concurrency);
    const items = [];
    for (let index = 0; index < count; index++) {
      items.push({
        toolName: 'no-op',
        priority: PRIORITIES[levels[index]!]!,
        resources: { cpu: 0.5, memoryMb: 10 },
        timeoutMs: 30_000,
        retry: { maxRetries: 3 },
        run: noOp,
      });
    }
    const group = engine.submitAll(items);
    submitted();
    await group.outcome();
  },
};
