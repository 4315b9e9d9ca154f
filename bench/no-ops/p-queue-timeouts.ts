import PQueue from 'p-queue';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

export const contestant: NoOpContestant = {
  name: 'p-queue timeouts',
  async run({ count, concurrency }) {
    const queue = new PQueue({ concurrency, timeout: 30_000 });
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) promises.push(queue.add(noOp));
    await Promise.all(promises);
  },
};
