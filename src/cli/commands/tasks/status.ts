import { statusText } from '../../../tasks/text/status-text.ts';
import { featureView } from '../../../tasks/view.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURES_ARGUMENT, featuresOf, openFolder, paragraphs, say } from './support.ts';

export const statusCommand = defineCommand({
  examples: ['volley tasks status', 'volley tasks status auth-system --json'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const features = await featuresOf(folder, name);
    const moment = folder.moment();
    const text = paragraphs(
      features.map((feature) => statusText(feature, moment)),
      folder,
    );
    return say(io, options, { features: features.map((feature) => featureView(feature, moment)) }, text);
  },
});
