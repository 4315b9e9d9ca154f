import { VolleyError } from '../../../core/errors.ts';
import type { Feature } from '../../../tasks/files/feature.ts';
import { plainLine } from '../../../tasks/files/feature-text.ts';
import { findSubtask } from '../../../tasks/files/subtask-reference.ts';
import { locateTasks } from '../../../tasks/files/task-folder.ts';
import { askRun, isAgentOfRun, refuseForAgents } from '../../../tasks/run/mailbox.ts';
import { withCommandRunner } from '../../../tasks/verify/command-runner.ts';
import { completedAnswer, verifyAndComplete } from '../../../tasks/verify/complete.ts';
import { requireTrusted } from '../../../tasks/verify/trust.ts';
import { type Evidence, evidenceText, verifySubtask } from '../../../tasks/verify/verify.ts';
import { EXIT } from '../../output/io.ts';
import { reportError } from '../../output/messages.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { configOf, FEATURE_ARGUMENT, SEQ_ARGUMENT, say } from './support.ts';

export const verifyCommand = defineCommand({
  examples: ['volley tasks verify auth-system 01', 'volley tasks verify auth-system'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument('[seq]', 'the number of the subtask (default: all that are in progress or completed)'),
  run: async ([name, seq], options, io) => {
    const { folder, workspace } = locateTasks(io.cwd, io.env);
    const feature = await folder.read(name!);
    const found: { seq: string; line: string; evidence: readonly Evidence[] }[] = [];
    requireTrusted(folder, feature, io.env);
    const place = { folder: workspace, project: folder.project };
    await withCommandRunner(await configOf(folder, options, io), async (commands) => {
      for (const subtask of seq === undefined ? begun(feature) : [findSubtask(feature, seq)]) {
        const evidence = await verifySubtask(subtask, { ...place, commands });
        found.push({ seq: subtask.seq, line: plainLine(subtask), evidence });
      }
    });
    const isDone = found.every(({ evidence }) => evidence.every(({ ok }) => ok));
    const data = { feature: feature.name, subtasks: found.map(({ seq, evidence }) => ({ seq, evidence })) };
    const text = found.map(({ line, evidence }) => [line, ...evidenceLines(evidence)].join('\n'));
    const nothing = 'No subtask is in progress or completed.';
    return say(io, options, data, text.join('\n') || nothing, isDone ? EXIT.ok : EXIT.failed);
  },
});

function begun({ subtasks }: Feature) {
  return subtasks.filter(({ status }) => status === 'in_progress' || status === 'completed');
}

function evidenceLines(evidence: readonly Evidence[]): string[] {
  if (evidence.length === 0) return ['  ! no deliverables or checks, so there is nothing to verify'];
  return evidence.map((one) => `  ${one.ok ? '✓' : '✗'} ${evidenceText(one).replaceAll('\n', '\n    ')}`);
}

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
      .option('--agent <name>', 'who did it; refused while another agent has claimed it')
      .option('--force', 'complete it even if checks fail; the file records that'),
  run: async ([name, seq, summary], options, io) => {
    const { force = false } = options;
    const { folder, workspace } = locateTasks(io.cwd, io.env);
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
        verifyAndComplete(folder, name!, request, commands),
      );
      const { data, text } = completedAnswer(completed, seq!, folder.moment());
      return say(io, options, data, text);
    } catch (error) {
      if (!(error instanceof VolleyError && error.code === 'VERIFICATION_FAILED')) throw error;
      // Not a usage error.
      reportError(error, options, io);
      return EXIT.failed;
    }
  },
});
