import { Effect } from 'effect';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

/** As its documentation does it: one fiber over a list, with a timeout on each. The one promise of the whole is awaited. */
export const contestant: NoOpContestant = {
  name: 'Effect timeouts',
  async run({ items, concurrency }) {
    const task = () => Effect.timeout(Effect.promise(noOp), 30_000);
    await Effect.runPromise(Effect.forEach(items, task, { concurrency, discard: true }));
  },
};
