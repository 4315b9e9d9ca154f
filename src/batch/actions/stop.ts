import { z } from 'zod';
import { countText } from '../../core/words.ts';
import { heldError } from '../../store/lease-table.ts';
import { defineAction, findBatch } from '../context.ts';
import { endText } from '../end-text.ts';
import { BATCH } from '../input/fields.ts';

export const stopAction = defineAction({
  name: 'stop',
  summary: 'starts nothing more of a batch; what runs may finish, what is left stays open',
  schema: z.strictObject({
    batch: BATCH,
    graceful: z
      .boolean()
      .default(true)
      .describe('Whether what runs may finish. If not, it is ended at once, and the answer waits for that.'),
  }),
  run: async ({ batch, graceful }, context) => {
    const record = findBatch(context, batch);
    const run = context.runs.current(batch);
    if (run === undefined) {
      const holder = context.runs.otherHolder(record);
      if (holder !== undefined) throw heldError(batch, holder);
      return endText(record, context.runs.problemOf(batch));
    }
    run.stop({ now: !graceful });
    if (!graceful || run.hasEnded) {
      await run.done;
      return endText(findBatch(context, batch), run.problem);
    }
    const running = [...run.tasks.values()].filter(({ handle }) => handle.status === 'running').length;
    return {
      text: `The batch "${batch}" is being stopped: nothing more starts, and ${countText(running, 'task')} may finish. What is left runs with the next "start".`,
      data: { batch, state: 'stopping', running },
    };
  },
});
