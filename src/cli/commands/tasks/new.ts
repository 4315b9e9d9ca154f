import { parseDescription } from '../../../tasks/describe/describe.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { createFeature } from './create-feature.ts';
import { readInput } from './support.ts';

interface NewOptions extends CommonOptions {
  readonly feature?: string;
}

export const newCommand = defineCommand<NewOptions>({
  examples: ['volley tasks new auth.md', 'volley tasks new auth.yaml --feature auth-system'],
  declare: (program) =>
    program
      .argument('<file>', 'a description: .md, .yaml or .json')
      .option('--feature <name>', 'the folder (default: what the file says)'),
  run: async ([file], options, io) => {
    const draft = parseDescription(file!, await readInput(file!, io));
    return createFeature(draft, options.feature, options, io);
  },
});
