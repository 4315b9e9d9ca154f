import pLimit from 'p-limit';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

export const contestant: NoOpContestant = {
  name: 'p-limit',
  async run({ count, concurrency }) {
    const limit = pLimit(concurrency);
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) promises.push(limit(noOp));
    await Promise.all(promises);
  },
};
