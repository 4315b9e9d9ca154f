import { subtaskOf } from '../../../tasks/lookup.ts';
import { refuseForAgents } from '../../../tasks/mailbox/ask-run.ts';
import { releaseSubtask } from '../../../tasks/state/release.ts';
import { subtaskView } from '../../../tasks/view.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT, say } from './support.ts';

interface ReleaseOptions extends CommonOptions {
  readonly agent?: string;
}

export const releaseCommand = defineCommand<ReleaseOptions>({
  examples: ['volley tasks release auth-system 04', 'volley tasks release auth-system 04 --agent coder-1'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .option('--agent <name>', 'only if this agent has it'),
  run: async ([name, seq], options, io) => {
    refuseForAgents(io.env, 'release subtasks');
    const folder = openFolder(io);
    const request = { seq: seq!, agent: options.agent };
    const feature = await folder.change(name!, (now) => releaseSubtask(now, request));
    const subtask = subtaskOf(feature, seq!);
    const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
    return say(io, options, data, `${subtask.seq} of ${feature.name} is open again.`);
  },
});
