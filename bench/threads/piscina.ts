import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { THREADS, type ThreadContestant, WORK } from './input.ts';

const pool = new Piscina({ filename: fileURLToPath(WORK), minThreads: THREADS, maxThreads: THREADS });

export const contestant: ThreadContestant = {
  name: 'piscina',
  async run({ count, work }) {
    const promises: Promise<unknown>[] = [];
    for (let index = 0; index < count; index++) promises.push(pool.run({ index }, { name: work }));
    await Promise.all(promises);
  },
};
