import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { BatchRecord } from '../../store/records.ts';
import { type BatchContext, findBatch } from '../context.ts';
import { BATCH, SECONDS } from '../input/fields.ts';
import { withReturned } from '../returned.ts';
import { endText, statusData, statusText } from '../status.ts';
import { viewOfRecord } from '../view.ts';
import { defineAction } from './define-action.ts';

/** Another process sends no events, so its batch is polled. */
const POLL_MS = 250;

export const waitAction = defineAction({
  name: 'wait',
  order: 90,
  summary: 'Wait until a batch ends, or for a number of seconds',
  scope: 'read',
  hints: { readOnly: true, askHolder: true },
  schema: z.strictObject({
    batch: BATCH,
    timeout: SECONDS.optional().describe('Maximum seconds to wait. Default: until it ends.'),
  }),
  cli: {
    group: 'look',
    summary: 'Wait for a batch in another process to end',
    examples: ['volley wait', 'volley wait --batch audit --timeout 60'],
    options: { timeout: { flags: '--timeout <seconds>' } },
  },
  run: async ({ batch, timeout }, context) => {
    await findBatch(context, batch);
    const giveUp = new AbortController();
    const timer = timeout === undefined ? undefined : setTimeout(() => giveUp.abort(), timeout * 1000);
    try {
      await ended(context, batch, giveUp.signal);
    } finally {
      clearTimeout(timer);
    }
    const record = await findBatch(context, batch);
    if (context.runs.current(batch) === undefined && context.runs.otherHolder(record) === undefined) {
      const ended = endText(record, context.runs.problemOf(batch));
      const end = await withReturned(context.store, batch, ended);
      return { text: end.text, data: { ...end.data, finished: true } };
    }
    const view = await viewOfRecord(record, context);
    return {
      text: `It has not ended yet. ${statusText(view, [], false)}`,
      data: { ...statusData(view, [], false), finished: false },
    };
  },
});

async function ended({ runs, store }: BatchContext, batch: string, signal: AbortSignal): Promise<void> {
  const gaveUp = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const isHeld = (record: BatchRecord | undefined) => record !== undefined && runs.otherHolder(record);
  while (!signal.aborted) {
    const run = runs.current(batch);
    if (run !== undefined) await Promise.race([run.done, gaveUp]);
    else if (!isHeld(await store.batch(batch)) && !(await store.servers?.willContinue(batch))) return;
    else await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}
