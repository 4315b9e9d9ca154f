import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { RUN_PROGRAM } from '../../core/script-tools.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';

const MAX_CODE_LENGTH = 256 * 1024;

const INPUT = z.strictObject({
  code: z
    .string()
    .min(1)
    .max(MAX_CODE_LENGTH)
    .describe(
      'The body of an async function: JavaScript that calls tools.name({...}) and returns a value. Calls made with Promise.all run in parallel.',
    ),
  args: z.unknown().optional().describe('The value of "args" in the program.'),
});

type RunProgramInput = z.infer<typeof INPUT>;

/** Its calls are tasks of a batch, so the batch runs it. */
export function runProgramTool(): Tool<RunProgramInput, unknown> {
  return defineTool<RunProgramInput, unknown>({
    name: RUN_PROGRAM,
    description:
      'Runs a JavaScript program that calls tools. Each call is a task of the batch. Returns what the program returns.',
    input: INPUT,
    idempotent: true,
    resources: { cpu: 0.1, memoryMb: 10, io: 'low' },
    run: () => {
      throw new VolleyError('INVALID_CALL', `${RUN_PROGRAM} works only as a task of a batch.`);
    },
  });
}
