import type { ChildProcess } from 'node:child_process';
import { Queue, QueueEvents } from 'bullmq';
import { type OwnRedis, startRedis } from '../../scripts/start-redis.ts';
import { startChildren, stopChildren } from './children.ts';
import { type ClusterContestant, WORKERS } from './contestant.ts';

let redis: OwnRedis;
let queue: Queue;
let events: QueueEvents;
let children: ChildProcess[] = [];
let left = 0;
let allDone: () => void = () => {};

/** One queue that all workers share; ends are learned from its events. */
export const contestant: ClusterContestant = {
  async prepare(concurrency) {
    redis = await startRedis();
    const { port } = new URL(redis.url);
    const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
    children = await startChildren(new URL('./bullmq-worker.ts', import.meta.url), () => [
      port,
      String(concurrency / WORKERS),
    ]);
    queue = new Queue('no-ops', { connection, defaultJobOptions: { removeOnComplete: true } });
    events = new QueueEvents('no-ops', { connection });
    events.on('completed', () => {
      if (--left === 0) allDone();
    });
    await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
  },
  async run(count) {
    left = count;
    const done = new Promise<void>((resolve) => {
      allDone = resolve;
    });
    await queue.addBulk(Array.from({ length: count }, (_, index) => ({ name: 'no-op', data: { index } })));
    await done;
  },
  async close() {
    await stopChildren(children);
    await events.close();
    await queue.close();
    await redis.stop();
  },
};
