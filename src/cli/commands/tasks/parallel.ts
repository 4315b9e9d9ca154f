import type { Feature } from '../../../tasks/feature.ts';
import { safeTogether } from '../../../tasks/graph/waves.ts';
import type { Moment } from '../../../tasks/state/moment.ts';
import { readySubtasks } from '../../../tasks/state/readiness.ts';
import { plainLine } from '../../../tasks/text/lines.ts';
import { subtaskView } from '../../../tasks/view.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURES_ARGUMENT, featuresOf, openFolder, paragraphs, say } from './support.ts';

export const parallelCommand = defineCommand({
  examples: ['volley tasks parallel auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const moment = folder.moment();
    const found = (await featuresOf(folder, name)).map((feature) => batchOf(feature, moment));
    const texts = found.map(({ feature, batch, later }) => {
      if (batch.length === 0) return `[${feature}] Nothing can be started now that may run beside others.`;
      const left =
        later.length > 0
          ? [`  Not with them: ${later.map(({ seq }) => seq).join(', ')} (the same deliverables)`]
          : [];
      return [
        `[${feature}] Can run at the same time:`,
        ...batch.map((one) => `  ${plainLine(one)}`),
        ...left,
      ].join('\n');
    });
    const views = found.map(({ feature, batch, later }) => ({
      feature,
      parallel: batch.map((subtask) => subtaskView(subtask, moment)),
      conflicting: later.map(({ seq }) => seq),
    }));
    return say(io, options, { features: views }, paragraphs(texts, folder));
  },
});

/** Those that are ready, may run beside others, and share no deliverables; and those left out for the latter. */
function batchOf(feature: Feature, moment: Moment) {
  const ready = readySubtasks(feature, moment).filter(({ parallel }) => parallel);
  const batch = safeTogether(ready);
  return { feature: feature.name, batch, later: ready.filter((subtask) => !batch.includes(subtask)) };
}
