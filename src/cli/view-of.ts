import { unknownBatch } from '../batch/context.ts';
import type { BatchView } from '../batch/view.ts';
import type { Session } from './session.ts';

/** How a batch stands; an error if there is none of that name. */
export async function viewOf(
  { executor, store }: Pick<Session, 'executor' | 'store'>,
  batch: string,
): Promise<BatchView> {
  const view = await executor.view(batch);
  if (view === undefined) throw await unknownBatch(store, batch);
  return view;
}
