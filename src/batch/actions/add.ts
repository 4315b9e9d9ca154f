import { z } from 'zod';
import { addTasks, warningsOf } from '../add-tasks.ts';
import { defineAction } from '../context.ts';
import { BATCH } from '../input/fields.ts';
import { TASK_FIELDS } from '../input/task-input.ts';
import { joinRun } from '../join-run.ts';
import { taskText } from '../names.ts';
import { linesText } from '../text.ts';

export const addAction = defineAction({
  schema: z.strictObject({ batch: BATCH, ...TASK_FIELDS }),
  run: async ({ batch, ...task }, context) => {
    const [added] = await addTasks(context, batch, [task]);
    const warnings = warningsOf([added!]);
    const joined = await joinRun(context, batch);
    return {
      text: linesText(`Added ${taskText(added!)} to the batch "${batch}".`, joined.text, warnings.text),
      data: { batch, id: added!.id, ...warnings.data, counts: joined.counts, state: joined.state },
    };
  },
});
