import { z } from 'zod';
import { checkInput } from '../../../batch/input/check.ts';
import type { McpTool } from '../tool.ts';
import { FEATURE_NAME } from './tasks-inputs.ts';

const INPUT = z.strictObject({
  feature: FEATURE_NAME,
  seq: z.string().min(1).max(300).describe('The number of the subtask.'),
  summary: z.string().min(1).max(10_000).describe('What was done.'),
  agent: z.string().min(1).max(200).optional().describe('Who did it.'),
});

const OUTPUT = z.looseObject({
  feature: z.string(),
  subtask: z.looseObject({}),
  changed: z.boolean().describe('False if it was completed before.'),
  marked: z.boolean().describe('It is done, and counts when it has been merged.'),
  evidence: z.array(z.looseObject({ subject: z.string(), ok: z.boolean(), text: z.string() })),
  ready: z.array(z.string()).describe('What can be started now.'),
});

export const tasksCompleteTool: McpTool = {
  name: 'tasks_complete',
  title: 'Complete a subtask',
  description: `Marks a subtask as completed if its work is there: deliverables, checks and dependencies. If not, it says what is missing, and changes nothing. For what you did yourself: tasks_run completes what it verified.

Example: {"feature": "auth-system", "seq": "01", "summary": "Set up the project."}`,
  input: INPUT,
  output: OUTPUT,
  // It runs the commands that verify the subtask.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  scopeOf: () => 'run',
  run: async (given, { backend, signal }) => {
    const { feature, ...completion } = checkInput(INPUT, 'tasks_complete', given);
    const desk = await backend.features();
    return desk.complete(feature, completion, signal);
  },
};
