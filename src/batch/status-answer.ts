import type { ActionResult } from './answer.ts';
import { type BatchContext, unknownBatch } from './context.ts';
import { explainTask } from './explain-task.ts';
import { statusData, statusText, type WaitingTask } from './status-text.ts';
import { linesText } from './text.ts';
import { readView } from './view.ts';

const MAX_EXPLAINED = 5;
const MAX_LOOKED_AT = 100;

/** How far a batch has come: what `status` answers. */
export async function statusOf(
  context: BatchContext,
  batch: string,
  detailed: boolean,
): Promise<ActionResult> {
  const view = await readView(batch, context);
  if (view === undefined) throw await unknownBatch(context.store, batch);
  const run = context.runs.current(batch);
  const waiting =
    run?.explainWaiting(detailed ? MAX_EXPLAINED : 1) ??
    (view.state === 'elsewhere' ? await waitingElsewhere(context, batch, detailed) : []);
  return {
    text: linesText(statusText(view, waiting, detailed), view.problem),
    data: { ...statusData(view, waiting, detailed) },
  };
}

/** The first ones of those that another process will try again or has not come to, as far as the store tells. */
async function waitingElsewhere(
  context: BatchContext,
  batch: string,
  detailed: boolean,
): Promise<WaitingTask[]> {
  const { store } = context;
  const running = await store.tasks(batch, { status: ['running'], limit: MAX_LOOKED_AT });
  const pausing = running.filter(({ pause }) => pause !== undefined);
  const open = detailed ? await store.tasks(batch, { status: ['open'], limit: MAX_EXPLAINED }) : [];
  const first = [...pausing, ...open].slice(0, detailed ? MAX_EXPLAINED : 1);
  const explained = first.map(async ({ id }) => ({
    id,
    text: (await explainTask(context, batch, id)) ?? '',
  }));
  return (await Promise.all(explained)).filter(({ text }) => text !== '');
}
