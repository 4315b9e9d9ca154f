import PQueue from 'p-queue';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

/** With it the greater number goes first. */
export const contestant: NoOpContestant = {
  name: 'p-queue priorities',
  async run({ count, concurrency, levels }) {
    const queue = new PQueue({ concurrency });
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) promises.push(queue.add(noOp, { priority: -levels[index]! }));
    await Promise.all(promises);
  },
};
