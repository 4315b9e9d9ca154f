import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { BatchEvent, TaskEvent } from '../../batch/events.ts';
import { batchBody } from '../views/batch-body.ts';
import type { EventBody } from '../wire/event.ts';
import type { EventHub } from './event-hub.ts';
import { ProgressRate } from './progress-rate.ts';

/** How often things are told again. */
export interface FeedOptions {
  /** The least span between two reports of one execution. Default 250. */
  readonly progressMs?: number;
  /** The least span between two views of one batch. Default 250. */
  readonly batchMs?: number;
}

const LONGEST_STEP = 200;

/** Tells the hub what happens to the batches of an executor: no arguments, no results, no texts of errors. */
export class BatchFeed {
  private readonly rate: ProgressRate;
  private readonly batchMs: number;
  /** Batches of which a view is due. */
  private readonly changed = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  /** One view after the other, so that none comes behind a newer one. */
  private publishing: Promise<void> = Promise.resolve();
  private readonly unfollow: () => void;

  constructor(
    private readonly executor: BatchExecutor,
    private readonly hub: EventHub,
    { progressMs = 250, batchMs = 250 }: FeedOptions = {},
  ) {
    this.rate = new ProgressRate(progressMs, (event) => this.publishTask(event));
    this.batchMs = batchMs;
    this.unfollow = executor.follow((event) => this.take(event));
  }

  /** Something may have changed of how a batch stands: that is told soon. */
  batchChanged(batch: string): void {
    this.changed.add(batch);
    this.timer ??= setTimeout(() => this.publishChanged(), this.batchMs).unref();
  }

  /** Tells what is still to be told, and then nothing more. */
  close(): Promise<void> {
    this.unfollow();
    this.rate.close();
    clearTimeout(this.timer);
    this.publishChanged();
    return this.publishing;
  }

  private take(event: BatchEvent): void {
    const { batch, at } = event;
    switch (event.type) {
      case 'added':
        this.hub.publish('added', batch, { batch, from_seq: event.fromSeq, to_seq: event.toSeq, at });
        break;
      case 'changed':
        this.hub.publish('cleared', batch, { batch, at });
        break;
      case 'batch-started':
      case 'batch-ended':
        this.publishView(batch);
        return;
      case 'progress':
        this.rate.add(event);
        break;
      default:
        this.rate.forget(event);
        this.publishTask(event);
    }
    this.batchChanged(batch);
  }

  private publishTask(event: TaskEvent): void {
    this.hub.publish('task', event.batch, taskBody(event));
  }

  private publishChanged(): void {
    this.timer = undefined;
    const batches = [...this.changed];
    this.changed.clear();
    for (const batch of batches) this.publishView(batch);
  }

  private publishView(batch: string): void {
    this.changed.delete(batch);
    this.publishing = this.publishing.then(() => this.publishViewNow(batch));
  }

  private async publishViewNow(batch: string): Promise<void> {
    try {
      const view = await this.executor.view(batch);
      if (view !== undefined) this.hub.publish('batch', batch, batchBody(view));
    } catch {
      // A store that is out of order is told by whoever works with it.
    }
  }
}

function taskBody(event: TaskEvent): EventBody<'task'> {
  const { batch, id, seq, type, attempt, at } = event;
  const body = { batch, id, seq, type, attempt, at };
  switch (event.type) {
    case 'progress': {
      const { progress, step } = event;
      return {
        ...body,
        ...(progress !== undefined && { progress }),
        ...(step !== undefined && { step: step.slice(0, LONGEST_STEP) }),
      };
    }
    case 'retrying':
      return { ...body, reason: event.reason, retry_in_ms: Math.round(event.retryInMs) };
    case 'failed':
      return { ...body, reason: event.reason };
    case 'skipped':
      return { ...body, ...(event.cause !== undefined && { cause: event.cause }) };
    default:
      return body;
  }
}
