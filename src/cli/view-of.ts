import { findBatch } from '../batch/context.ts';
import type { BatchView } from '../batch/view.ts';
import type { Session } from './session.ts';

/** How a batch stands; an error if there is none of that name. */
export function viewOf({ executor, store }: Pick<Session, 'executor' | 'store'>, batch: string): BatchView {
  findBatch({ store }, batch);
  return executor.view(batch)!;
}
