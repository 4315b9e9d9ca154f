import { checkInput } from '../../../batch/input/check.ts';
import { linesText } from '../../../batch/text.ts';
import { RUN_INPUT } from '../../../tasks/run/run-request.ts';
import type { RunReport } from '../../../tasks/run/report.ts';
import { DEFAULT_WAIT_SECONDS } from '../limits.ts';
import type { McpCall, McpTool, ToolAnswer } from '../tool.ts';
import { untilEnded } from '../until-ended.ts';
import { ask } from './ask.ts';
import { FEATURE_NAME, FEATURE_WAIT, RUN_OUTPUT } from './tasks-inputs.ts';

const INPUT = RUN_INPUT.extend({
  feature: FEATURE_NAME,
  wait: FEATURE_WAIT.default(DEFAULT_WAIT_SECONDS).describe(
    `Seconds to wait for the end. Default ${DEFAULT_WAIT_SECONDS}.`,
  ),
});

export const tasksRunTool: McpTool = {
  name: 'tasks_run',
  title: 'Run the subtasks of a feature',
  description: `Lets a coding agent do each subtask of a feature in .tmp/tasks, many at once as dependencies allow; checks what they delivered, completes what it could verify, and reports. What is not safe is refused before anything starts.

Use it instead of delegating subtasks one by one: for a whole feature, or with "subtasks" or "batch" for one batch. Not for work that is not described there.
Agents take minutes: after "wait" seconds the answer is "running" and the run goes on; tasks_report waits for its end. Cancelling the call cancels the run. Run again, it does only what is not completed.

Example: {"feature": "auth-system", "subtasks": ["01", "02"], "session": ".tmp/sessions/auth/context.md"}`,
  input: INPUT,
  output: RUN_OUTPUT,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  scopeOf: () => 'run',
  run: async (given, call) => {
    const { feature, wait, ...input } = checkInput(INPUT, 'tasks_run', given);
    const desk = await call.backend.features();
    call.signal.throwIfAborted();
    const { batch, ended } = await desk.start(feature, input);
    const outcome = await untilEnded(call, batch, wait);
    if (outcome === 'cancelled') {
      await ask(call, { action: 'cancel', batch, all: true });
      return runAnswer(feature, batch, await ended);
    }
    return outcome === 'running'
      ? runningAnswer(call, feature, batch)
      : runAnswer(feature, batch, await ended);
  },
};

/** What a run that has ended comes to. */
export async function runAnswer(feature: string, batch: string, report: RunReport): Promise<ToolAnswer> {
  const { reportText } = await import('../../../tasks/run/report-text.ts');
  const isError = report.status === 'failed' || report.status === 'partial';
  return { text: reportText(report), data: { feature, batch, state: 'ended', report }, isError };
}

export async function runningAnswer(call: McpCall, feature: string, batch: string): Promise<ToolAnswer> {
  const { text, data } = await ask(call, { action: 'status', batch });
  const next = JSON.stringify({ feature, wait: DEFAULT_WAIT_SECONDS });
  return {
    text: linesText(text, `It goes on without you. ${next} to tasks_report waits for its end.`),
    data: { feature, batch, state: 'running', counts: data['counts'] },
  };
}
