import { z } from 'zod';
import { addBatchAction } from '../../batch/actions/add-batch.ts';
import { startAction } from '../../batch/actions/start.ts';
import { programTask, TASK } from '../../batch/input/fields.ts';
import { RARE_RUN_FIELDS, RUN_FIELDS, RUN_OUTPUT, runTasks } from './run-tasks.ts';
import { defineServedTool, MAX_TASKS_PER_CALL, RUNS } from './tool.ts';

const MAX_CODE_LENGTH = 1_000_000;

const { batch: _, tasks, ...ofBatch } = addBatchAction.schema.shape;

/** Tasks in, results out, in one call. */
export const runBatchTool = defineServedTool({
  name: 'run_batch',
  title: 'Run many calls at once',
  description: `Runs three or more calls that you know now in parallel and returns all results. Params can use results: {"$from": "a", "path": "/entries/0/path"}, or inside a string:
{"tasks": [{"id": "a", "function": "list_directory", "params": {"path": "src"}}, {"function": "read_file", "params": {"path": "\${a.entries.0.path}"}}]}`,
  input: z.strictObject({
    tasks: z
      .array(TASK)
      .min(1)
      .max(MAX_TASKS_PER_CALL)
      .meta(z.globalRegistry.get(tasks) ?? {}),
    ...ofBatch,
    ...RUN_FIELDS,
    fail_fast: startAction.schema.shape.fail_fast,
  }),
  output: RUN_OUTPUT,
  annotations: RUNS,
  rare: [...RARE_RUN_FIELDS, 'name', 'resources', 'on_dependency_failure'],
  asTask: true,
  scope: 'run',
  run: ({ batch, max_concurrent, timeout, wait, max_chars, fail_fast, ...added }, call) =>
    runTasks(call, added, { batch, max_concurrent, timeout, wait, max_chars, fail_fast }),
});

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
