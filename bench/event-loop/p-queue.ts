import PQueue from 'p-queue';
import { noOp } from '../work/no-op.ts';
import type { DrainContestant } from './drain.ts';

export const contestant: DrainContestant = {
  name: 'p-queue',
  async run({ count, concurrency, submitted }) {
    const queue = new PQueue({ concurrency });
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) promises.push(queue.add(noOp));
    const all = Promise.all(promises);
    submitted();
    await all;
  },
};
