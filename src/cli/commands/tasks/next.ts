import { readySubtasks } from '../../../tasks/state/readiness.ts';
import { plainLine } from '../../../tasks/text/lines.ts';
import { subtaskView } from '../../../tasks/view.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURES_ARGUMENT, featuresOf, openFolder, paragraphs, say } from './support.ts';

export const nextCommand = defineCommand({
  examples: ['volley tasks next', 'volley tasks next auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const moment = folder.moment();
    const found = (await featuresOf(folder, name)).map((feature) => ({
      feature: feature.name,
      ready: readySubtasks(feature, moment),
    }));
    const texts = found.map(({ feature, ready }) => {
      if (ready.length === 0) return `[${feature}] Nothing can be started now.`;
      const lines = ready.map((one) => `  ${plainLine(one)}${one.parallel ? ' parallel' : ''}`);
      return [`[${feature}] Can be started:`, ...lines].join('\n');
    });
    const views = found.map(({ feature, ready }) => ({
      feature,
      ready: ready.map((subtask) => subtaskView(subtask, moment)),
    }));
    return say(io, options, { features: views }, paragraphs(texts, folder));
  },
});
