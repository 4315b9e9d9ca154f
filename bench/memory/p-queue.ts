import PQueue from 'p-queue';
import { noOp } from '../work/no-op.ts';
import type { MemoryContestant } from './queued-tasks.ts';

/** It makes a promise for each task in any case. */
export const contestant: MemoryContestant = {
  name: 'p-queue',
  async run({ count, given }) {
    const queue = new PQueue({ concurrency: 16, autoStart: false });
    for (let index = 0; index < count; index++) given[index] = queue.add(noOp);
    return queue;
  },
};
