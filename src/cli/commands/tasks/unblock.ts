import { subtaskOf } from '../../../tasks/lookup.ts';
import { refuseForAgents } from '../../../tasks/mailbox/ask-run.ts';
import { unblockSubtask } from '../../../tasks/state/block.ts';
import { subtaskView } from '../../../tasks/view.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT, say } from './support.ts';

export const unblockCommand = defineCommand({
  examples: ['volley tasks unblock auth-system 04'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT).argument(...SEQ_ARGUMENT),
  run: async ([name, seq], options, io) => {
    refuseForAgents(io.env, 'unblock subtasks');
    const folder = openFolder(io);
    const feature = await folder.change(name!, (now) => unblockSubtask(now, { seq: seq! }));
    const subtask = subtaskOf(feature, seq!);
    const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
    return say(io, options, data, `${subtask.seq} of ${feature.name} is open again.`);
  },
});
