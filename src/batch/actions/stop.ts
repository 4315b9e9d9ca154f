import { z } from 'zod';
import { countText } from '../../core/words.ts';
import type { LeaseHolder } from '../../store/records.ts';
import type { ActionResult } from '../answer.ts';
import { type BatchContext, findBatch } from '../context.ts';
import { hintText } from '../hints.ts';
import { BATCH } from '../input/fields.ts';
import { askHolder, holderText, untilReleased } from '../run/holder-requests.ts';
import { endText } from '../status.ts';
import { defineAction } from './define-action.ts';

export const stopAction = defineAction({
  name: 'stop',
  order: 50,
  summary: 'Stop a batch: running tasks finish, and the rest stay open',
  scope: 'run',
  hints: { askHolder: true },
  schema: z.strictObject({
    batch: BATCH,
    graceful: z
      .boolean()
      .default(true)
      .describe('Let running tasks finish. If false, they are cancelled, and the answer waits for that.'),
  }),
  http: { method: 'post', path: '/v1/batches/{batch}/stop', operationId: 'stopBatch' },
  cli: {
    group: 'run',
    examples: ['volley stop', 'volley stop --batch audit --now'],
    options: {
      graceful: {
        flags: '--now',
        help: 'cancel running tasks; those that are safe to repeat run again on the next start',
        value: false,
      },
    },
  },
  run: async ({ batch, graceful }, context) => {
    const record = await findBatch(context, batch);
    const run = await context.runs.currentOrNext(batch);
    if (run === undefined) {
      const holder = context.runs.otherHolder(record);
      if (holder !== undefined) return stopElsewhere(context, batch, holder, !graceful);
      // Its process has died, and nobody has continued it yet.
      await context.store.servers?.leaveAlone(batch);
      return endText(record, context.runs.problemOf(batch));
    }
    run.stop({ now: !graceful });
    if (!graceful || run.hasEnded) {
      await run.done;
      return endText(await findBatch(context, batch), run.problem);
    }
    const running = [...run.tasks.values()].filter(({ handle }) => handle.status === 'running').length;
    return {
      text: `The batch "${batch}" is stopping. ${stoppingText(running)}`,
      data: { batch, state: 'stopping', running },
    };
  },
});

/** Asks the process that runs the batch to stop it. */
async function stopElsewhere(
  context: BatchContext,
  batch: string,
  holder: LeaseHolder,
  now: boolean,
): Promise<ActionResult> {
  const running = await askHolder(context, batch, holder, { action: 'stop', now });
  const isOver = running === undefined || (now && (await untilReleased(context, batch)));
  if (isOver) return endText(await findBatch(context, batch), undefined);
  return {
    text: `The batch "${batch}" is stopping in ${holderText(holder)}. ${stoppingText(running)}`,
    data: { batch, state: 'stopping', running, holder },
  };
}

function stoppingText(running: number): string {
  return `No more tasks start; ${countText(running, 'running task')} may finish. ${hintText('startOpen')}`;
}
