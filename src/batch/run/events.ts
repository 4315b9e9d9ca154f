import type { FailureReason } from '../../core/failure.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { Recovery, Store } from '../../store/store.ts';

interface TaskEventBase {
  readonly batch: string;
  readonly seq: number;
  readonly id: string;
  readonly name: string;
  /** The tool. */
  readonly function: string;
  /** If it is an item: the id of its group. */
  readonly group: string | undefined;
  /** The attempt number over all runs; 0 before the first. */
  readonly attempt: number;
  /** Unix time in milliseconds. */
  readonly at: number;
}

/** An event of a task. Ends are published once they are stored. */
export type TaskEvent =
  | (TaskEventBase & { readonly type: 'started' })
  /** The attempt goes to a worker of the cluster. */
  | (TaskEventBase & { readonly type: 'placed'; readonly worker: string })
  /** The latest progress and the latest step that the attempt reported. */
  | (TaskEventBase & {
      readonly type: 'progress';
      readonly progress: number | undefined;
      readonly step: string | undefined;
    })
  | (TaskEventBase & {
      readonly type: 'retrying';
      readonly reason: FailureReason;
      readonly retryInMs: number;
      /** The quota that is used up, if that is why: then it is open again, and no attempt was used. */
      readonly quota?: string;
    })
  /** `durationMs`: of the last attempt. `cached`: if the result came from the cache. */
  | (TaskEventBase & { readonly type: 'completed'; readonly durationMs: number; readonly cached?: true })
  | (TaskEventBase & { readonly type: 'cancelled' })
  /** The cause is the id of the task that did not succeed, if that is why. The code is that of its own reason. */
  | (TaskEventBase & {
      readonly type: 'skipped';
      readonly cause: string | undefined;
      readonly code: string | undefined;
    })
  | (TaskEventBase & { readonly type: 'failed'; readonly reason: FailureReason; readonly message: string })
  /** It is open again, for this run or a later one. */
  | (TaskEventBase & { readonly type: 'opened' });

/** An event of a task or a batch of this executor. */
export type BatchEvent =
  | TaskEvent
  | {
      readonly type: 'added';
      readonly batch: string;
      readonly fromSeq: number;
      readonly toSeq: number;
      readonly at: number;
    }
  | { readonly type: 'batch-started' | 'batch-ended'; readonly batch: string; readonly at: number }
  /** Tasks were removed, or too many changed to report each: read the batch again. */
  | { readonly type: 'changed'; readonly batch: string; readonly at: number };

/** Called synchronously, so it must be quick and must not throw. */
export type BatchEventListener = (event: BatchEvent) => void;

/** Delivers the events of an executor. Publishers check `hasListeners` first, so that unused events cost nothing. */
export class BatchEvents {
  private readonly listeners = new Set<BatchEventListener>();

  get hasListeners(): boolean {
    return this.listeners.size > 0;
  }

  listen(listener: BatchEventListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  publish(event: BatchEvent): void {
    for (const listener of this.listeners) listener(event);
  }
}

/** More changed tasks than this are one `changed` event. */
const MAX_SINGLE_EVENTS = 1000;
const STATUS_AFTER = { cancelled: 'cancelled', opened: 'open' } as const;

/** Publishes a change outside of a run, of the tasks with these ids or of an unknown number. */
export async function publishChange(
  events: BatchEvents,
  store: Pick<Store, 'task'>,
  batch: string,
  ids: readonly string[] | undefined,
  type: keyof typeof STATUS_AFTER,
): Promise<void> {
  if (!events.hasListeners) return;
  const at = Date.now();
  if (ids === undefined || ids.length > MAX_SINGLE_EVENTS) {
    events.publish({ type: 'changed', batch, at });
    return;
  }
  for (const task of await Promise.all(ids.map((id) => store.task(batch, id))))
    if (task?.status === STATUS_AFTER[type]) events.publish({ ...taskFields(task), type, at });
}

/** Publishes the batches that were recovered after a crash. */
export function publishRecovery(events: BatchEvents, { reopened, crashed }: Recovery): void {
  if (!events.hasListeners) return;
  const batches = new Set([...reopened, ...crashed].map(({ batch }) => batch));
  for (const batch of batches) events.publish({ type: 'changed', batch, at: Date.now() });
}

function taskFields({ batch, seq, id, name, function: tool, attempts, options }: TaskRecord) {
  return { batch, seq, id, name, function: tool, group: options.item?.group, attempt: attempts };
}
