import type { ActionResult } from './answer.ts';
import { type BatchContext, findBatch } from './context.ts';
import { explainTask } from './explain-task.ts';
import { statusData, statusText, type WaitingTask } from './status-text.ts';
import { linesText } from './text.ts';
import { viewOf } from './view.ts';

const MAX_EXPLAINED = 5;
const MAX_LOOKED_AT = 100;

/** How far a batch has come: what `status` answers. */
export function statusOf(context: BatchContext, batch: string, detailed: boolean): ActionResult {
  const run = context.runs.current(batch);
  const view = viewOf(findBatch(context, batch), context);
  const waiting =
    run?.explainWaiting(detailed ? MAX_EXPLAINED : 1) ??
    (view.state === 'elsewhere' ? waitingElsewhere(context, batch, detailed) : []);
  return {
    text: linesText(statusText(view, waiting, detailed), view.problem),
    data: { ...statusData(view, waiting, detailed) },
  };
}

/** The first ones of those that another process will try again or has not come to, as far as the store tells. */
function waitingElsewhere(context: BatchContext, batch: string, detailed: boolean): WaitingTask[] {
  const { store } = context;
  const pausing = store
    .tasks(batch, { status: ['running'], limit: MAX_LOOKED_AT })
    .filter(({ pause }) => pause !== undefined);
  const open = detailed ? store.tasks(batch, { status: ['open'], limit: MAX_EXPLAINED }) : [];
  return [...pausing, ...open]
    .slice(0, detailed ? MAX_EXPLAINED : 1)
    .map(({ id }) => ({ id, text: explainTask(context, batch, id) ?? '' }))
    .filter(({ text }) => text !== '');
}
