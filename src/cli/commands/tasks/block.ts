import { subtaskOf } from '../../../tasks/lookup.ts';
import { askRun, isAgentOfRun } from '../../../tasks/mailbox/ask-run.ts';
import { blockSubtask } from '../../../tasks/state/block.ts';
import { subtaskView } from '../../../tasks/view.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT, say } from './support.ts';

export const blockCommand = defineCommand({
  examples: ['volley tasks block auth-system 04 "waits for the new API key"'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .argument('<reason>', 'why'),
  run: async ([name, seq, reason], options, io) => {
    const request = { seq: seq!, reason: reason! };
    if (isAgentOfRun(io.env)) {
      const { data, text } = await askRun(io.env, { action: 'block', feature: name!, ...request });
      return say(io, options, data, text);
    }
    const folder = openFolder(io);
    const feature = await folder.change(name!, (now) => blockSubtask(now, request));
    const subtask = subtaskOf(feature, seq!);
    const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
    return say(io, options, data, `${subtask.seq} of ${feature.name} is blocked.`);
  },
});
