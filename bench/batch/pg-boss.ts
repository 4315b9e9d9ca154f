import PgBoss from 'pg-boss';
import { startPostgres } from '../../scripts/start-postgres.ts';
import { type BatchContestant, CONCURRENCY } from './contestant.ts';
import { untilReady } from './until-ready.ts';

const QUEUE = 'no-ops';
let stopServer: (() => Promise<void>) | undefined;
let boss: PgBoss | undefined;

/** It fetches and completes as many jobs at a time as others run at once; its own worker waits between two fetches. */
export const contestant: BatchContestant = {
  async prepare() {
    const { folder, user, remove } = await startPostgres();
    stopServer = remove;
    // A server that has just been started refuses connections for a while.
    boss = await untilReady(async () => {
      const one = new PgBoss({ host: folder, user, database: 'postgres', supervise: false, schedule: false });
      one.on('error', () => {});
      return one.start();
    });
    await boss.createQueue(QUEUE);
  },
  async run(count) {
    if (boss === undefined) throw new Error('It was not prepared.');
    await boss.insert(Array.from({ length: count }, (_, index) => ({ name: QUEUE, data: { index } })));
    for (let left = count; left > 0; ) {
      const jobs = await boss.fetch(QUEUE, { batchSize: CONCURRENCY });
      await Promise.all(jobs.map(async () => {}));
      await boss.complete(
        QUEUE,
        jobs.map(({ id }) => id),
      );
      left -= jobs.length;
    }
  },
  async close() {
    await boss?.stop({ graceful: false });
    await stopServer?.();
  },
};
