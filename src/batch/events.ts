import type { FailureReason } from '../core/failure.ts';

interface TaskEventBase {
  readonly batch: string;
  readonly seq: number;
  readonly id: string;
  /** The tool. */
  readonly function: string;
  /** The number of the attempt over all runs; 0 before the first. */
  readonly attempt: number;
  /** The time of day in milliseconds since 1970. */
  readonly at: number;
}

/** Something that happened to a task. What is told of an end is safe in the store. */
export type TaskEvent =
  | (TaskEventBase & { readonly type: 'started' })
  /** What it reported last of each. */
  | (TaskEventBase & {
      readonly type: 'progress';
      readonly progress: number | undefined;
      readonly step: string | undefined;
    })
  | (TaskEventBase & {
      readonly type: 'retrying';
      readonly reason: FailureReason;
      readonly retryInMs: number;
    })
  | (TaskEventBase & { readonly type: 'completed' | 'cancelled' })
  /** The cause is the id of the task that did not succeed, if that is why. */
  | (TaskEventBase & { readonly type: 'skipped'; readonly cause: string | undefined })
  | (TaskEventBase & { readonly type: 'failed'; readonly reason: FailureReason })
  /** It shall run again, by a later run if not by this one. */
  | (TaskEventBase & { readonly type: 'opened' });

/** Something that happened to a task or a batch, through this executor. */
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
  /** Tasks are gone, or so many were cancelled or opened again that they are not told one by one: read the batch anew. */
  | { readonly type: 'changed'; readonly batch: string; readonly at: number };

/** Is told of everything as it comes, in the middle of the work: it must be quick, and must not throw. */
export type BatchEventListener = (event: BatchEvent) => void;

/** Who wants to know. Whoever has something to tell asks first whether anybody listens, so that nobody costs nothing. */
export class BatchEvents {
  private readonly listeners = new Set<BatchEventListener>();

  get isHeard(): boolean {
    return this.listeners.size > 0;
  }

  add(listener: BatchEventListener): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  tell(event: BatchEvent): void {
    for (const listener of this.listeners) listener(event);
  }
}
