import { z } from 'zod';
import { COMPUTE } from '../../core/script-tools.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';

const INPUT = z.strictObject({
  expression: z
    .unknown()
    .optional()
    .meta({ type: 'string' })
    .describe(
      "A JavaScript expression over results of other tasks, by id: results['a-1'].length + b.count. Mentioning a task makes it a dependency.",
    ),
});

type ComputeInput = z.infer<typeof INPUT>;

/** Returns its argument: the expression was evaluated with all other references of the call. */
export function computeTool(): Tool<ComputeInput, unknown> {
  return defineTool<ComputeInput, unknown>({
    name: COMPUTE,
    description:
      'Computes a value from results of other tasks with a JavaScript expression. It reaches nothing else.',
    input: INPUT,
    readOnly: true,
    resources: { cpu: 0.1, memoryMb: 10, io: 'low' },
    run: ({ expression }) => expression,
  });
}
