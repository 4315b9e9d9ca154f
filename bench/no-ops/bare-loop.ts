import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

/** The limit: loops that do nothing but await, as many as may run at once. */
export const contestant: NoOpContestant = {
  name: 'bare promise loop',
  async run({ count, concurrency }) {
    let next = 0;
    const loops = Array.from({ length: concurrency }, async () => {
      while (next++ < count) await noOp();
    });
    await Promise.all(loops);
  },
};
