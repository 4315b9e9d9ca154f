import { z } from 'zod';
import { addBatchTasks, warningsOf } from '../add-tasks.ts';
import { BATCH, TASK_FIELDS } from '../input/fields.ts';
import { joinRun } from '../join-run.ts';
import { linesText, taskText } from '../text.ts';
import { defineAction } from './define-action.ts';

export const addAction = defineAction({
  name: 'add',
  order: 10,
  summary: 'Add one task to a batch',
  scope: 'run',
  hints: { creates: true },
  schema: z.strictObject({ batch: BATCH, ...TASK_FIELDS }),
  cli: {
    group: 'run',
    examples: [
      `volley add --function code_analyzer_tool --params '{"action":"analyze","file_path":"src/index.ts"}'`,
      `volley add --id report --function write_file --params '{"path":"r.txt","content":"\${lines.total}"}' --depends-on lines`,
    ],
    options: {
      function: { flags: '--function <name>', help: 'the tool to call (volley tools lists them)' },
      params: { help: 'the arguments of the tool as JSON' },
      timeout: { flags: '--timeout <seconds>' },
      on_dependency_failure: { flags: '--on-dependency-failure <policy>' },
      resources: false,
      on: false,
      repeat: false,
      for_each: false,
      max_concurrent: false,
      on_item_error: false,
      when: {
        flags: '--when <expression>',
        help: 'a JavaScript expression over results; the task is skipped unless it is true',
      },
    },
  },
  run: async ({ batch, ...task }, context) => {
    const [added] = await addBatchTasks(context, batch, [task]);
    const warnings = warningsOf([added!]);
    const joined = await joinRun(context, batch);
    return {
      text: linesText(`Added ${taskText(added!)} to the batch "${batch}".`, joined.text, warnings.text),
      data: { batch, id: added!.id, ...warnings.data, counts: joined.counts, state: joined.state },
    };
  },
});
