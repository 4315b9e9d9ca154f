import { ParallelToolCoordinator } from '../../dist/index.js';
import { type BatchContestant, CONCURRENCY } from './contestant.ts';
import { NO_OP } from './tools.ts';

const coordinator = new ParallelToolCoordinator();
coordinator.register(NO_OP);

/** The same calls, all results in memory. */
export const contestant: BatchContestant = {
  async prepare() {},
  async run(count) {
    const calls = Array.from({ length: count }, (_, index) => ({ name: 'no_op', arguments: { index } }));
    const results = await coordinator.executeParallel(calls, { maxConcurrency: CONCURRENCY });
    if (results.some(({ status }) => status !== 'completed')) throw new Error('Not all completed.');
  },
  close: () => coordinator.close(),
};
