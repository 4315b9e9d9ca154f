import { engineWith } from '../work/engine.ts';
import { FULL_CONTEXTS } from '../work/full-context.ts';
import { PRIORITIES } from '../work/priorities.ts';
import type { ChainContestant } from './chains.ts';

const [{ resources: RESOURCES, retry: RETRY }] = FULL_CONTEXTS as [(typeof FULL_CONTEXTS)[number]];

export const contestant: ChainContestant = {
  name: 'volley',
  async run({ ids, dependsOn, levels, tasks, concurrency }) {
    const engine = engineWith(concurrency);
    const items = ids.map((id, index) => ({
      id,
      toolName: 'no-op',
      dependsOn: dependsOn[index]!,
      priority: PRIORITIES[levels[index]!]!,
      resources: RESOURCES,
      timeoutMs: 30_000,
      retry: RETRY,
      run: tasks[index]!,
    }));
    await engine.submitAll(items).outcome();
    await engine.close();
  },
};
