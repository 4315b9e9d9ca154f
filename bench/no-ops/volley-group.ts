import { engineWith } from '../work/engine.ts';
import { FULL_ITEMS } from '../work/full-context.ts';
import type { NoOpContestant } from './input.ts';

/** Everything on for each task, and one outcome for the whole group. */
export const contestant: NoOpContestant = {
  name: 'volley submitAll',
  async run({ count, concurrency, levels }) {
    const engine = engineWith(concurrency);
    const items = [];
    for (let index = 0; index < count; index++) items.push(FULL_ITEMS[levels[index]!]!);
    await engine.submitAll(items).outcome();
    await engine.close();
  },
};
