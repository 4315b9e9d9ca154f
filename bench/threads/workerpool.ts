import { fileURLToPath } from 'node:url';
import workerpool from 'workerpool';
import { THREADS, type ThreadContestant } from './input.ts';

/** Its threads need a script that registers the functions. */
const script = fileURLToPath(new URL('./workerpool-worker.mjs', import.meta.url));
const pool = workerpool.pool(script, { minWorkers: THREADS, maxWorkers: THREADS, workerType: 'thread' });

export const contestant: ThreadContestant = {
  name: 'workerpool',
  async run({ count, work }) {
    const promises: PromiseLike<unknown>[] = [];
    for (let index = 0; index < count; index++) promises.push(pool.exec(work, [{ index }]));
    await Promise.all(promises);
  },
};
