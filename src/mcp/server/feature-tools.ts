import { z } from 'zod';
import { DEFAULT_WAIT_SECONDS } from '../../batch/input/fields.ts';
import { linesText, oneLine } from '../../batch/text.ts';
import { batchNameOf } from '../../tasks/files/feature.ts';
import type { RunReport } from '../../tasks/run/report.ts';
import { notRunYet } from '../../tasks/run/report-file.ts';
import { RUN_INPUT } from '../../tasks/run/run-request.ts';
import { defineServedTool, type McpCall, READS, RUNS, type ToolAnswer, WAIT_SECONDS } from './tool.ts';
import { waitForEnd } from './wait-for-end.ts';

const FEATURE_NAME = z.string().min(1).max(255).describe('The name of its folder in .tmp/tasks.');

/** The report of a run, or its progress. */
const RUN_OUTPUT = z.object({
  feature: z.string(),
  batch: z.string().describe('The batch of the run, for batch_status and batch_executor_tool.'),
  state: z.enum(['running', 'ended']),
  counts: z.record(z.string(), z.number()).optional().describe('While it runs: subtasks by status.'),
  report: z.looseObject({}).optional().describe('The report, once the run has ended.'),
});

export const tasksRunTool = defineServedTool({
  name: 'tasks_run',
  title: 'Run the subtasks of a feature',
  description:
    'Has coding agents do the subtasks of a feature in .tmp/tasks in parallel, and completes those that it can verify. It answers "running" after "wait" seconds; then use tasks_report. A second run does what is left.',
  input: RUN_INPUT.extend({
    feature: FEATURE_NAME,
    wait: WAIT_SECONDS.default(DEFAULT_WAIT_SECONDS).describe(
      `Seconds to wait for the end. Default ${DEFAULT_WAIT_SECONDS}.`,
    ),
  }),
  output: RUN_OUTPUT,
  annotations: RUNS,
  scope: 'run',
  run: async ({ feature, wait, ...input }, call) => {
    const service = await call.backend.features();
    call.signal.throwIfAborted();
    const { batch, ended } = await service.start(feature, input);
    const outcome = await waitForEnd(call, batch, wait);
    if (outcome === 'cancelled') {
      await call.backend.executor.perform('cancel', { batch, all: true });
      return runAnswer(feature, batch, await ended);
    }
    return outcome === 'running'
      ? runningAnswer(call, feature, batch)
      : runAnswer(feature, batch, await ended);
  },
});

/** The answer for a run that has ended. */
async function runAnswer(feature: string, batch: string, report: RunReport): Promise<ToolAnswer> {
  const { reportText } = await import('../../tasks/run/report-text.ts');
  const isError = report.status === 'failed' || report.status === 'partial';
  return { text: reportText(report), data: { feature, batch, state: 'ended', report }, isError };
}

async function runningAnswer(call: McpCall, feature: string, batch: string): Promise<ToolAnswer> {
  const { text, data } = await call.backend.executor.perform('status', { batch, detailed: false });
  const next = JSON.stringify({ feature, wait: DEFAULT_WAIT_SECONDS });
  return {
    text: linesText(text, `It continues in the background. To wait for it, call tasks_report with ${next}.`),
    data: { feature, batch, state: 'running', counts: data['counts'] },
  };
}

export const tasksReportTool = defineServedTool({
  name: 'tasks_report',
  title: 'Report of the last run of a feature',
  description: 'Reports the last run of a feature: how each subtask ended and why, and what to do next.',
  input: z.strictObject({
    feature: FEATURE_NAME,
    wait: WAIT_SECONDS.default(0).describe('Seconds to wait for the end.'),
  }),
  output: RUN_OUTPUT,
  annotations: READS,
  scope: 'read',
  run: async ({ feature, wait }, call) => {
    const service = await call.backend.features();
    const batch = batchNameOf(feature);
    if (wait > 0 && (await service.isRunning(feature))) await waitForEnd(call, batch, wait);
    const { state, report } = await service.report(feature);
    if (state === 'running') return runningAnswer(call, feature, batch);
    if (report === undefined) throw notRunYet(feature);
    return { ...(await runAnswer(feature, batch, report)), isError: false };
  },
});

export const tasksStatusTool = defineServedTool({
  name: 'tasks_status',
  title: 'Status of a feature',
  description: 'Shows a feature and its subtasks. Without "feature" it lists all features.',
  input: z.strictObject({
    feature: FEATURE_NAME.optional().describe('Default: list all features.'),
  }),
  output: z.looseObject({
    feature: z.string().optional(),
    subtasks: z.array(z.looseObject({})).optional(),
    running: z.boolean().optional().describe('Whether agents are working on it.'),
    features: z.array(z.looseObject({})).optional().describe('Without "feature": all of them.'),
  }),
  annotations: READS,
  scope: 'read',
  run: async ({ feature }, { backend }) => {
    const service = await backend.features();
    if (feature !== undefined) return service.status(feature);
    const features = await service.list();
    const lines = features.map(
      (one) =>
        `[${one.feature}] ${oneLine(one.name, 200)}: ${one.status}, ${one.completed_count}/${one.subtask_count}${one.running ? ', running' : ''}`,
    );
    return { text: lines.join('\n') || 'No features in .tmp/tasks yet.', data: { features } };
  },
});

export const tasksCompleteTool = defineServedTool({
  name: 'tasks_complete',
  title: 'Complete a subtask',
  description:
    'Marks a subtask that you did yourself as completed, if its deliverables, checks and dependencies are in place. Otherwise it says what is missing.',
  input: z.strictObject({
    feature: FEATURE_NAME,
    seq: z.string().min(1).max(300).describe('The number of the subtask.'),
    summary: z.string().min(1).max(10_000).describe('What was done.'),
    agent: z.string().min(1).max(200).optional().describe('Who did it.'),
  }),
  output: z.looseObject({
    feature: z.string(),
    subtask: z.looseObject({}),
    changed: z.boolean().describe('False if it was completed before.'),
    marked: z.boolean().describe('Whether it is done, but counts only once it is merged.'),
    evidence: z.array(z.looseObject({ subject: z.string(), ok: z.boolean(), text: z.string() })),
    ready: z.array(z.string()).describe('Subtasks that can start now.'),
  }),
  // It runs the commands that verify the subtask.
  annotations: RUNS,
  scope: 'run',
  run: async ({ feature, ...completion }, { backend, signal }) => {
    const service = await backend.features();
    return service.complete(feature, completion, signal);
  },
});
