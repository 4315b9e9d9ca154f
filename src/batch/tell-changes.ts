import type { TaskRecord } from '../store/records.ts';
import type { Recovery, Store } from '../store/store.ts';
import type { BatchEvents, TaskEvent } from './events.ts';

/** So many tasks are told one by one. */
const MOST_TOLD = 1000;

type ChangeType = 'cancelled' | 'opened';

/** Tells what became of tasks outside of a run. */
export function tellTasks(events: BatchEvents, tasks: readonly TaskRecord[], type: ChangeType): void {
  if (!events.isHeard) return;
  for (const task of tasks) events.tell(changeOf(task, type));
}

/** Tells that tasks were opened again: those of the ids, or any. */
export function tellOpened(
  events: BatchEvents,
  store: Store,
  batch: string,
  ids: readonly string[] | undefined,
): void {
  if (!events.isHeard) return;
  if (ids === undefined || ids.length > MOST_TOLD) {
    events.tell({ type: 'changed', batch, at: Date.now() });
    return;
  }
  for (const id of ids) {
    const task = store.task(batch, id);
    if (task !== undefined && task.status === 'open') events.tell(changeOf(task, 'opened'));
  }
}

/** Tells what was found after a crash. */
export function tellRecovered(events: BatchEvents, { reopened, crashed }: Recovery): void {
  if (!events.isHeard) return;
  const batches = new Set([...reopened, ...crashed].map(({ batch }) => batch));
  for (const batch of batches) events.tell({ type: 'changed', batch, at: Date.now() });
}

function changeOf({ batch, seq, id, function: tool, attempts }: TaskRecord, type: ChangeType): TaskEvent {
  return { type, batch, seq, id, function: tool, attempt: attempts, at: Date.now() };
}
