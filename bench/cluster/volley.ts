import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { ClusterCoordinator, defaultConfig, ParallelToolCoordinator } from '../../dist/internals.js';
import { type OwnRedis, startRedis } from '../../scripts/start-redis.ts';
import { startChildren, stopChildren } from './children.ts';
import { type ClusterContestant, WORKERS } from './contestant.ts';
import { HOLD, NO_OP } from './tools.ts';

let redis: OwnRedis;
let cluster: ClusterCoordinator;
let children: ChildProcess[] = [];
const calls = new ParallelToolCoordinator({ config: defaultConfig() });
calls.register(NO_OP, HOLD);

/** The coordinator decides about each call when it may start, and where. */
export const contestant: ClusterContestant = {
  async prepare(concurrency) {
    redis = await startRedis();
    const settings = {
      url: redis.url,
      prefix: 'bench',
      key: 'only for this benchmark',
      share: 'none',
      artifacts: undefined,
    };
    const slots = String(concurrency / WORKERS);
    const argsOf = (index: number) => [JSON.stringify(settings), `w${index}`, slots];
    children = await startChildren(new URL('./volley-worker.ts', import.meta.url), argsOf);
    cluster = await ClusterCoordinator.open(settings);
    cluster.attach(calls);
    while (cluster.workers.length < WORKERS) await sleep(20);
  },
  async run(count) {
    const list = Array.from({ length: count }, (_, index) => ({
      id: `c${index}`,
      name: 'no_op',
      arguments: { index },
    }));
    const results = await calls.executeParallel(list);
    const completed = results.filter(({ status }) => status === 'completed').length;
    if (completed !== count) throw new Error(`Only ${completed} of ${count} completed.`);
  },
  async serverMb() {
    const client = new Redis(redis.url);
    try {
      await client.call('MEMORY', 'PURGE');
      const info = await client.info('memory');
      return Number(/^used_memory:(\d+)/m.exec(info)?.[1]) / 2 ** 20;
    } finally {
      client.disconnect();
    }
  },
  async cancelMs() {
    const controller = new AbortController();
    const started = someMessage('started');
    const running = calls.executeSingle({ name: 'hold', arguments: {} }, { signal: controller.signal });
    await started;
    const stopped = someMessage('stopped');
    const start = performance.now();
    controller.abort();
    await stopped;
    const ms = performance.now() - start;
    await running;
    return ms;
  },
  async restartMs(count) {
    const controller = new AbortController();
    const starts = new Map<ChildProcess, number>(children.map((child) => [child, 0]));
    let onStart = () => {};
    for (const child of children)
      child.on('message', (message) => {
        if (message !== 'started') return;
        starts.set(child, starts.get(child)! + 1);
        onStart();
      });
    const until = (isDone: () => boolean) =>
      new Promise<void>((resolve) => {
        onStart = () => {
          if (isDone()) resolve();
        };
        onStart();
      });
    const list = Array.from({ length: count }, (_, index) => ({
      id: `h${index}`,
      name: 'hold',
      arguments: {},
    }));
    const running = calls.executeParallel(list, { signal: controller.signal });
    const [first, second] = children as [ChildProcess, ChildProcess];
    await until(() => starts.get(first)! + starts.get(second)! === count);
    const start = performance.now();
    first.kill('SIGKILL');
    await until(() => starts.get(second)! === count);
    const ms = performance.now() - start;
    controller.abort();
    await running;
    return ms;
  },
  async close() {
    await calls.close({ cancel: true });
    await cluster.close();
    await stopChildren(children);
    await redis.stop();
  },
};

/** Waits for a worker to say something. */
async function someMessage(text: string): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  await Promise.race(
    children.map(async (child) => {
      for (;;) {
        const [message] = await once(child, 'message', { signal });
        if (message === text) return;
      }
    }),
  );
  controller.abort();
}
