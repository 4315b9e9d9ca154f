import fastq from 'fastq';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

/** Its one worker function is the no-op itself, so that it has no further call to make. */
export const contestant: NoOpContestant = {
  name: 'fastq promises',
  async run({ count, concurrency }) {
    const queue = fastq.promise(noOp, concurrency);
    const promises: Promise<void>[] = [];
    for (let index = 0; index < count; index++) promises.push(queue.push(index));
    await Promise.all(promises);
  },
};
