import type { BatchExecutor } from '../../batch/batch-executor.ts';
import { ENDED } from '../../batch/counts.ts';
import type { Store } from '../../store/store.ts';
import { batchBody } from '../views/batch-body.ts';
import { executionBody } from '../views/execution-body.ts';
import type { EventBody } from '../wire/event.ts';

const MAX_BATCHES = 200;
const MAX_RUNNING = 100;
const MAX_ENDED = 100;

/** How everything stands: the newest batches; or one batch, with what runs and what was added last of what has ended. */
export async function takeSnapshot(
  executor: BatchExecutor,
  store: Store,
  batch: string | undefined,
): Promise<EventBody<'snapshot'>> {
  if (batch === undefined) return { batches: (await executor.views(undefined, MAX_BATCHES)).map(batchBody) };
  const view = await executor.view(batch);
  if (view === undefined) return { batches: [], executions: [] };
  const running = await store.tasks(batch, { status: ['running'], limit: MAX_RUNNING });
  const ended = await store.tasks(batch, { status: ENDED, beforeSeq: LAST, limit: MAX_ENDED });
  return {
    batches: [batchBody(view)],
    executions: [...running, ...ended].map((record) => ({
      ...executionBody(record, executor),
      // Who may read the text of an error asks for it.
      message: null,
    })),
  };
}

/** Behind every task. */
const LAST = 2 ** 30;
