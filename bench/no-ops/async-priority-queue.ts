import { priorityQueue } from 'async';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

/** With it the smaller number goes first. */
export const contestant: NoOpContestant = {
  name: 'async.priorityQueue',
  async run({ count, concurrency, levels }) {
    // biome-ignore lint/nursery/noMisusedPromises: it takes async functions too, which its types do not say.
    const queue = priorityQueue<number>(noOp, concurrency);
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) promises.push(queue.push(index, levels[index]!));
    await Promise.all(promises);
  },
};
