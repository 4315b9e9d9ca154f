import { VolleyError } from '../../../core/errors.ts';
import { complete } from '../../../tasks/complete.ts';
import { taskPlaceOf } from '../../../tasks/files/task-place.ts';
import { askRun, isAgentOfRun, refuseForAgents } from '../../../tasks/mailbox/ask-run.ts';
import { completedAnswer } from '../../../tasks/text/completed-text.ts';
import { withCommandRunner } from '../../../tasks/verify/command-runner.ts';
import { EXIT } from '../../output/io.ts';
import { reportError } from '../../output/messages.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { configOf, FEATURE_ARGUMENT, SEQ_ARGUMENT, say } from './support.ts';

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
    const { folder, workspace } = taskPlaceOf(io.cwd, io.env);
    try {
      if (isAgentOfRun(io.env)) {
        if (force) refuseForAgents(io.env, 'complete a subtask with --force');
        const request = { feature: name!, seq: seq!, summary: summary! };
        const { data, text } = await askRun(io.env, { action: 'complete', ...request });
        return say(io, options, data, text);
      }
      const request = { seq: seq!, summary: summary!, agent: options.agent, force, workspace, env: io.env };
      const config = await configOf(folder, options, io);
      const completed = await withCommandRunner(config, (commands) =>
        complete(folder, name!, request, commands),
      );
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
