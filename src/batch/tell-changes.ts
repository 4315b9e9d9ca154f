import type { Recovery, Store, TaskSummary } from '../store/store.ts';
import type { BatchEvents, TaskEvent } from './events.ts';

/** So many tasks are told one by one. */
const MAX_TOLD = 1000;

/** Tasks of a batch that were changed outside of a run: those of the ids, or any. */
interface Changes {
  readonly batch: string;
  readonly ids: readonly string[] | undefined;
  readonly type: ChangeType;
}

type ChangeType = 'cancelled' | 'opened';

const STATUS_AFTER = { cancelled: 'cancelled', opened: 'open' } as const;

/** Tells what became of tasks. */
export async function tellChanges(
  events: BatchEvents,
  store: Store,
  { batch, ids, type }: Changes,
): Promise<void> {
  if (!events.isHeard) return;
  if (ids === undefined || ids.length > MAX_TOLD) {
    events.tell({ type: 'changed', batch, at: Date.now() });
    return;
  }
  for (const task of (await store.tasksById(batch, ids)).values())
    if (task.status === STATUS_AFTER[type]) events.tell(changeOf(batch, task, type));
}

/** Tells what was found after a crash. */
export function tellRecovered(events: BatchEvents, { reopened, crashed }: Recovery): void {
  if (!events.isHeard) return;
  const batches = new Set([...reopened, ...crashed].map(({ batch }) => batch));
  for (const batch of batches) events.tell({ type: 'changed', batch, at: Date.now() });
}

function changeOf(
  batch: string,
  { seq, id, function: tool, attempts }: TaskSummary,
  type: ChangeType,
): TaskEvent {
  return { type, batch, seq, id, function: tool, attempt: attempts, at: Date.now() };
}
