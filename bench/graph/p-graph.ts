import { type DependencyList, PGraph, type PGraphNode } from 'p-graph';
import { noOp } from '../work/no-op.ts';
import type { GraphContestant } from './random-graph.ts';

export const contestant: GraphContestant = {
  name: 'p-graph',
  async run({ ids, dependsOn, concurrency }) {
    const nodes = new Map<string, PGraphNode>();
    const edges: DependencyList = [];
    for (let index = 0; index < ids.length; index++) {
      nodes.set(ids[index]!, { run: noOp });
      for (const dependency of dependsOn[index]!) edges.push([dependency, ids[index]!]);
    }
    await new PGraph(nodes, edges).run({ concurrency });
  },
};
