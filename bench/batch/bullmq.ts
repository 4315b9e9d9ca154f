import { Queue, Worker } from 'bullmq';
import { startRedis } from '../../scripts/start-redis.ts';
import { type BatchContestant, CONCURRENCY } from './contestant.ts';

let stopServer: (() => Promise<void>) | undefined;
let queue: Queue | undefined;
let worker: Worker | undefined;
let left = 0;
let allDone: () => void = () => {};

export const contestant: BatchContestant = {
  async prepare() {
    const { socket, stop } = await startRedis();
    stopServer = stop;
    const connection = { path: socket, maxRetriesPerRequest: null };
    queue = new Queue('no-ops', { connection });
    worker = new Worker('no-ops', async () => {}, { connection, concurrency: CONCURRENCY });
    worker.on('completed', () => {
      if (--left === 0) allDone();
    });
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  },
  async run(count) {
    left = count;
    const done = new Promise<void>((resolve) => {
      allDone = resolve;
    });
    await queue?.addBulk(Array.from({ length: count }, (_, index) => ({ name: 'no-op', data: { index } })));
    await done;
  },
  async close() {
    await worker?.close();
    await queue?.close();
    await stopServer?.();
  },
};
