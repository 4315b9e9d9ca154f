import { z } from 'zod';
import { countText, listText } from '../../core/words.ts';
import { addBatchTasks, warningsOf } from '../add-tasks.ts';
import { BATCH, RETURN, returnTask, TASK } from '../input/fields.ts';
import { joinRun } from '../join-run.ts';
import { linesText } from '../text.ts';
import { defineAction } from './define-action.ts';

export const MAX_TASKS = 100_000;
/** How many ids the answer lists. */
const MAX_IDS = 100;
const MAX_SHOWN = 5;

export const addBatchAction = defineAction({
  name: 'add_batch',
  order: 20,
  summary: 'Add many tasks to a batch, all or none',
  scope: 'run',
  hints: { creates: true },
  schema: z.strictObject({
    batch: BATCH,
    tasks: z.array(TASK).min(1).max(MAX_TASKS).describe('The tasks.'),
    return: RETURN,
  }),
  cli: {
    group: 'run',
    summary: 'Add the tasks in a file to a batch without running it',
    examples: ['volley add-batch audit.json', 'generate-tasks | volley add-batch - --batch audit'],
    options: { tasks: false, return: false },
  },
  run: async ({ batch, tasks, return: expression }, context) => {
    const all = expression === undefined ? tasks : [...tasks, returnTask(expression)];
    const added = await addBatchTasks(context, batch, all);
    const warnings = warningsOf(added);
    const joined = await joinRun(context, batch);
    const ids = added.slice(0, MAX_IDS).map(({ id }) => id);
    const shown = listText(ids.slice(0, MAX_SHOWN), added.length);
    return {
      text: linesText(
        `Added ${countText(added.length, 'task')} to the batch "${batch}": ${shown}.`,
        joined.text,
        warnings.text,
      ),
      data: { batch, added: added.length, ids, ...warnings.data, counts: joined.counts, state: joined.state },
    };
  },
});
