import { engineWith } from '../work/engine.ts';
import { FULL_CONTEXTS } from '../work/full-context.ts';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

/** Written out, because objects made by spreading have a shape of their own each, which slows down whoever reads them. */
const ITEMS = FULL_CONTEXTS.map(({ toolName, priority, resources, timeoutMs, retry }) => {
  return { toolName, priority, resources, timeoutMs, retry, run: noOp };
});

/** Everything on for each task, and one outcome for the whole group. */
export const contestant: NoOpContestant = {
  name: 'volley submitAll',
  async run({ count, concurrency, levels }) {
    const engine = engineWith(concurrency);
    const items = [];
    for (let index = 0; index < count; index++) items.push(ITEMS[levels[index]!]!);
    await engine.submitAll(items).outcome();
    await engine.close();
  },
};
