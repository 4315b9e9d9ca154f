import { VolleyError } from '../../../core/errors.ts';
import { complete } from '../../../tasks/complete.ts';
import { progressOf } from '../../../tasks/feature.ts';
import { subtaskOf } from '../../../tasks/lookup.ts';
import { readySubtasks } from '../../../tasks/state/readiness.ts';
import { subtaskLine } from '../../../tasks/text/lines.ts';
import { subtaskView } from '../../../tasks/view.ts';
import { type CommonOptions, defineCommand } from '../../command.ts';
import { EXIT } from '../../io.ts';
import { reportError } from '../../report.ts';
import { FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT, say, withLauncher } from './support.ts';

interface CompleteOptions extends CommonOptions {
  readonly agent?: string;
  readonly force?: boolean;
}

export const completeCommand = defineCommand<CompleteOptions>({
  examples: ['volley tasks complete auth-system 01 "Set up the project"'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .argument('<summary>', 'what was done')
      .option('--agent <name>', "who did it; refused while another's claim holds")
      .option('--force', 'in spite of what is missing; the file says so'),
  run: async ([name, seq, summary], options, io) => {
    const { agent, force = false, json = false } = options;
    const folder = openFolder(io);
    try {
      const request = { seq: seq!, summary: summary!, agent, force };
      const { feature, evidence, changed } = await withLauncher((launcher) =>
        complete(folder, name!, request, launcher),
      );
      const moment = folder.moment();
      const subtask = subtaskOf(feature, seq!);
      const { done, total } = progressOf(feature);
      const ready = readySubtasks(feature, moment).map((one) => one.seq);
      const lines = [
        `${subtaskLine(subtask)}${changed ? '' : ' before: nothing was changed'}`,
        `  Progress: ${done}/${total}`,
        ...(ready.length > 0 ? [`  Can be started: ${ready.join(', ')}`] : []),
      ];
      const data = { feature: feature.name, subtask: subtaskView(subtask, moment), changed, evidence, ready };
      return say(io, options, data, lines.join('\n'));
    } catch (error) {
      if (!(error instanceof VolleyError && error.code === 'VERIFICATION_FAILED')) throw error;
      // The command was right; the work is not.
      reportError(error, json, io);
      return EXIT.failed;
    }
  },
});
