import { engineWith } from '../work/engine.ts';
import { FULL_CONTEXTS } from '../work/full-context.ts';
import { noOp } from '../work/no-op.ts';
import { PRIORITIES } from '../work/priorities.ts';
import type { GraphContestant } from './random-graph.ts';

const [{ resources: RESOURCES, retry: RETRY }] = FULL_CONTEXTS as [(typeof FULL_CONTEXTS)[number]];

/** Everything on for each node, submitted as one group. */
export const contestant: GraphContestant = {
  name: 'volley submitAll',
  async run({ ids, dependsOn, levels, concurrency }) {
    const engine = engineWith(concurrency);
    const items = [];
    for (let index = 0; index < ids.length; index++) {
      items.push({
        id: ids[index]!,
        toolName: 'no-op',
        dependsOn: dependsOn[index]!,
        priority: PRIORITIES[levels[index]!]!,
        resources: RESOURCES,
        timeoutMs: 30_000,
        retry: RETRY,
        run: noOp,
      });
    }
    const { succeeded } = await engine.submitAll(items).outcome();
    if (!succeeded) throw new Error('Some nodes did not complete.');
    await engine.close();
  },
};
