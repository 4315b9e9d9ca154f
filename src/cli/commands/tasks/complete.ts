import { VolleyError } from '../../../core/errors.ts';
import { withLauncher } from '../../../runners/process/with-launcher.ts';
import { complete } from '../../../tasks/complete.ts';
import { AGENT_VARIABLE, taskPlaceOf } from '../../../tasks/files/task-place.ts';
import { completedAnswer } from '../../../tasks/text/completed-text.ts';
import { type CommonOptions, defineCommand } from '../../command.ts';
import { EXIT } from '../../io.ts';
import { reportError } from '../../report.ts';
import { FEATURE_ARGUMENT, SEQ_ARGUMENT, say } from './support.ts';

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
    const { force = false } = options;
    // An agent of a run speaks for itself only.
    const agent = io.env[AGENT_VARIABLE] ?? options.agent;
    const { folder, workspace } = taskPlaceOf(io.cwd, io.env);
    try {
      const request = { seq: seq!, summary: summary!, agent, force, workspace };
      const completed = await withLauncher((launcher) => complete(folder, name!, request, launcher));
      const { data, text } = completedAnswer(completed, seq!, folder.moment());
      return say(io, options, data, text);
    } catch (error) {
      if (!(error instanceof VolleyError && error.code === 'VERIFICATION_FAILED')) throw error;
      // The command was right; the work is not.
      reportError(error, options, io);
      return EXIT.failed;
    }
  },
});
