import type { Feature } from '../../../tasks/feature.ts';
import { taskPlaceOf } from '../../../tasks/files/task-place.ts';
import { subtaskOf } from '../../../tasks/lookup.ts';
import { plainLine } from '../../../tasks/text/lines.ts';
import { requireTrusted } from '../../../tasks/trust.ts';
import { withCommandRunner } from '../../../tasks/verify/command-runner.ts';
import { type Evidence, evidenceText } from '../../../tasks/verify/evidence.ts';
import { verifySubtask } from '../../../tasks/verify/verify.ts';
import { EXIT } from '../../output/io.ts';
import { defineCommand } from '../../program/command.ts';
import { configOf, FEATURE_ARGUMENT, say } from './support.ts';

export const verifyCommand = defineCommand({
  examples: ['volley tasks verify auth-system 01', 'volley tasks verify auth-system'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument('[seq]', 'the number of the subtask (default: all that are in progress or completed)'),
  run: async ([name, seq], options, io) => {
    const { folder, workspace } = taskPlaceOf(io.cwd, io.env);
    const feature = await folder.read(name!);
    const found: { seq: string; line: string; evidence: readonly Evidence[] }[] = [];
    requireTrusted(folder, feature, io.env);
    const place = { folder: workspace, project: folder.project };
    await withCommandRunner(await configOf(folder, options, io), async (commands) => {
      for (const subtask of seq === undefined ? begun(feature) : [subtaskOf(feature, seq)]) {
        const evidence = await verifySubtask(subtask, { ...place, commands });
        found.push({ seq: subtask.seq, line: plainLine(subtask), evidence });
      }
    });
    const isDone = found.every(({ evidence }) => evidence.every(({ ok }) => ok));
    const data = { feature: feature.name, subtasks: found.map(({ seq, evidence }) => ({ seq, evidence })) };
    const text = found.map(({ line, evidence }) => [line, ...evidenceLines(evidence)].join('\n'));
    const nothing = 'No subtask has been begun.';
    return say(io, options, data, text.join('\n') || nothing, isDone ? EXIT.ok : EXIT.failed);
  },
});

function begun({ subtasks }: Feature) {
  return subtasks.filter(({ status }) => status === 'in_progress' || status === 'completed');
}

function evidenceLines(evidence: readonly Evidence[]): string[] {
  if (evidence.length === 0) return ['  ! it names no deliverables and no checks, so nothing can be shown'];
  return evidence.map((one) => `  ${one.ok ? '✓' : '✗'} ${evidenceText(one).replaceAll('\n', '\n    ')}`);
}
