import { parseTaskMaster } from '../../../tasks/describe/task-master.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { createFeature } from './create-feature.ts';
import { readInput } from './support.ts';

interface ImportOptions extends CommonOptions {
  readonly feature?: string;
  readonly tag?: string;
}

export const importCommand = defineCommand<ImportOptions>({
  examples: ['volley tasks import .taskmaster/tasks/tasks.json --tag master --feature auth-system'],
  declare: (program) =>
    program
      .argument('<file>', 'a tasks.json of claude-task-master')
      .option('--feature <name>', 'the folder (default: the tag)')
      .option('--tag <name>', 'which list of the file (default: the only one, or master)'),
  run: async ([file], options, io) => {
    const draft = parseTaskMaster(file!, await readInput(file!, io), options.tag);
    return createFeature(draft, options.feature, options, io);
  },
});
