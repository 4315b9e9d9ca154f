import { z } from 'zod';
import { checkInput } from '../../../batch/input/check.ts';
import { batchNameOf } from '../../../tasks/files/feature.ts';
import { notRunYet } from '../../../tasks/run/report-file.ts';
import type { McpTool } from '../tool.ts';
import { untilEnded } from '../until-ended.ts';
import { FEATURE_NAME, FEATURE_WAIT, RUN_OUTPUT } from './tasks-inputs.ts';
import { runAnswer, runningAnswer } from './tasks-run.ts';

const INPUT = z.strictObject({
  feature: FEATURE_NAME,
  wait: FEATURE_WAIT.default(0).describe('Seconds to wait for the end.'),
});

export const tasksReportTool: McpTool = {
  name: 'tasks_report',
  title: 'What the last run of a feature came to',
  description: `Returns the report of the last run of a feature: what became of each subtask and why, what was verified, and what can be done next.

Use it after tasks_run answered "running": with "wait" it answers as soon as the run has ended.

Example: {"feature": "auth-system", "wait": 50}`,
  input: INPUT,
  output: RUN_OUTPUT,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  scopeOf: () => 'read',
  run: async (given, call) => {
    const { feature, wait } = checkInput(INPUT, 'tasks_report', given);
    const desk = await call.backend.features();
    const batch = batchNameOf(feature);
    if (wait > 0 && (await desk.isRunning(feature))) await untilEnded(call, batch, wait);
    const { state, report } = await desk.report(feature);
    if (state === 'running') return runningAnswer(call, feature, batch);
    if (report === undefined) throw notRunYet(feature);
    return { ...(await runAnswer(feature, batch, report)), isError: false };
  },
};
