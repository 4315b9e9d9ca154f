import { DependencyMap } from '../../../tasks/graph/dependencies.ts';
import { subtaskOf } from '../../../tasks/lookup.ts';
import { openDependencies } from '../../../tasks/state/readiness.ts';
import { dependencyTree } from '../../../tasks/text/tree-text.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT, say } from './support.ts';

export const depsCommand = defineCommand({
  examples: ['volley tasks deps auth-system 04'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT).argument(...SEQ_ARGUMENT),
  run: async ([name, reference], options, io) => {
    const feature = await openFolder(io).read(name!);
    const subtask = subtaskOf(feature, reference!);
    const map = new DependencyMap(feature.subtasks);
    const data = {
      feature: feature.name,
      seq: subtask.seq,
      depends_on: subtask.dependsOn,
      open: openDependencies(feature, subtask),
      /** Also those that it waits for through others. */
      all: feature.subtasks.map(({ seq }) => seq).filter((seq) => map.waitsFor(subtask.seq, seq)),
    };
    return say(io, options, data, dependencyTree(feature, subtask.seq));
  },
});
