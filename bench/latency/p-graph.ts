import { type DependencyList, PGraph, type PGraphNode } from 'p-graph';
import type { ChainContestant } from './chains.ts';

export const contestant: ChainContestant = {
  name: 'p-graph',
  async run({ ids, dependsOn, tasks, concurrency }) {
    const nodes = new Map<string, PGraphNode>(ids.map((id, index) => [id, { run: tasks[index]! }]));
    const edges: DependencyList = ids.flatMap((id, index) =>
      dependsOn[index]!.map((dependency): [string, string] => [dependency, id]),
    );
    await new PGraph(nodes, edges).run({ concurrency });
  },
};
