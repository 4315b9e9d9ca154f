import { auto } from 'async';
import { noOp } from '../work/no-op.ts';
import type { GraphContestant } from './random-graph.ts';

type Tasks = Parameters<typeof auto>[0];

export const contestant: GraphContestant = {
  name: 'async.auto',
  async run({ ids, dependsOn, concurrency }) {
    const tasks: Tasks = {};
    for (let index = 0; index < ids.length; index++) tasks[ids[index]!] = [...dependsOn[index]!, noOp];
    await auto(tasks, concurrency);
  },
};
