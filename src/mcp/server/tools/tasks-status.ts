import { z } from 'zod';
import { checkInput } from '../../../batch/input/check.ts';
import { oneLine } from '../../../batch/text.ts';
import type { McpTool } from '../tool.ts';
import { FEATURE_NAME } from './tasks-inputs.ts';

const INPUT = z.strictObject({
  feature: FEATURE_NAME.optional().describe('Default: all features are listed.'),
});

const OUTPUT = z.looseObject({
  feature: z.string().optional(),
  subtasks: z.array(z.looseObject({})).optional(),
  running: z.boolean().optional().describe('Whether agents work on it now.'),
  features: z.array(z.looseObject({})).optional().describe('Without "feature": all of them.'),
});

export const tasksStatusTool: McpTool = {
  name: 'tasks_status',
  title: 'How a feature stands',
  description: `Tells how a feature of .tmp/tasks stands, and each of its subtasks. Without "feature" it lists all features.

Example: {"feature": "auth-system"}`,
  input: INPUT,
  output: OUTPUT,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  scopeOf: () => 'read',
  run: async (given, { backend }) => {
    const { feature } = checkInput(INPUT, 'tasks_status', given ?? {});
    const desk = await backend.features();
    if (feature !== undefined) return desk.status(feature);
    const features = await desk.list();
    const lines = features.map(
      (one) =>
        `[${one.feature}] ${oneLine(one.name, 200)}: ${one.status}, ${one.completed_count}/${one.subtask_count}${one.running ? ', running' : ''}`,
    );
    return { text: lines.join('\n') || 'There are no features in .tmp/tasks yet.', data: { features } };
  },
};
