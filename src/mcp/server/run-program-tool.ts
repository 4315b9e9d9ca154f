import { z } from 'zod';
import { programTask, TASK } from '../../batch/input/fields.ts';
import { RARE_RUN_FIELDS, RUN_FIELDS, RUN_OUTPUT, runTasks } from './run-tasks.ts';
import { defineServedTool, RUNS } from './tool.ts';

const MAX_CODE_LENGTH = 1_000_000;

/** A program in, what it returns out. */
export const runProgramTool = defineServedTool({
  name: 'run_program',
  title: 'Run a program that calls functions',
  description: `Runs JavaScript that calls functions; only what it returns comes back. Prefer it to map, filter, loop or combine. Also parallel(list, fn, {concurrency}), log(), try/catch; no imports, timers or network. Signatures: list_batch_functions.
const {entries} = await tools.list_directory({path: 'notes'}); const notes = await Promise.all(entries.map(e => tools.read_file({path: e.path}))); return notes.filter(n => n.content.includes('open')).length`,
  input: z.strictObject({
    code: z.string().min(1).max(MAX_CODE_LENGTH),
    args: z.unknown().optional().describe('The global "args".'),
    ...RUN_FIELDS,
  }),
  output: RUN_OUTPUT,
  annotations: RUNS,
  rare: RARE_RUN_FIELDS,
  asTask: true,
  scope: 'run',
  run: ({ code, args, ...options }, call) =>
    runTasks(call, { tasks: [TASK.parse(programTask(code, args))] }, { ...options, fail_fast: false }),
});
