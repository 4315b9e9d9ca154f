import { shortTitle, subtaskLine } from '../../../tasks/text/lines.ts';
import { subtaskView } from '../../../tasks/view.ts';
import { type Waiting, waitingSubtasks } from '../../../tasks/waiting.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURES_ARGUMENT, featuresOf, openFolder, paragraphs, say } from './support.ts';

export const blockedCommand = defineCommand({
  examples: ['volley tasks blocked', 'volley tasks blocked auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const moment = folder.moment();
    const found = (await featuresOf(folder, name)).map((feature) => ({
      feature: feature.name,
      waiting: waitingSubtasks(feature, moment),
    }));
    const texts = found.map(({ feature, waiting }) =>
      waiting.length === 0
        ? `[${feature}] Nothing is held up.`
        : [`[${feature}] Held up:`, ...waiting.map((one) => `  ${lineOf(one)}`)].join('\n'),
    );
    const views = found.map(({ feature, waiting }) => ({
      feature,
      blocked: waiting.map(({ subtask, reason, waitsFor }) => ({
        ...subtaskView(subtask, moment),
        reason: reason ?? null,
        waits_for: waitsFor,
      })),
    }));
    return say(io, options, { features: views }, paragraphs(texts, folder));
  },
});

function lineOf({ subtask, reason, waitsFor }: Waiting): string {
  const waits = waitsFor.length > 0 ? ` waits for ${waitsFor.join(', ')}` : '';
  return `${subtaskLine(subtask)}${reason === undefined ? '' : ` ${shortTitle(reason)}`}${waits}`;
}
