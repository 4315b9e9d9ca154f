import Tinypool from 'tinypool';
import { THREADS, type ThreadContestant, WORK } from './input.ts';

const pool = new Tinypool({ filename: WORK.href, minThreads: THREADS, maxThreads: THREADS });

export const contestant: ThreadContestant = {
  name: 'tinypool',
  async run({ count, work }) {
    const promises: Promise<unknown>[] = [];
    for (let index = 0; index < count; index++) promises.push(pool.run({ index }, { name: work }));
    await Promise.all(promises);
  },
};
