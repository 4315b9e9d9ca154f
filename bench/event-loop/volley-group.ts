import { engineWith } from '../work/engine.ts';
import { FULL_ITEMS } from '../work/full-context.ts';
import type { DrainContestant } from './drain.ts';

export const contestant: DrainContestant = {
  name: 'volley submitAll',
  async run({ count, concurrency, levels, submitted }) {
    const engine = engineWith(concurrency);
    const items = [];
    for (let index = 0; index < count; index++) items.push(FULL_ITEMS[levels[index]!]!);
    const group = engine.submitAll(items);
    submitted();
    await group.outcome();
  },
};
