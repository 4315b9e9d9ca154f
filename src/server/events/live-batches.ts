import type { ServerResponse } from 'node:http';
import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { Store } from '../../store/store.ts';
import { StoreWatch } from '../../store/store-watch.ts';
import { BatchFeed, type FeedOptions } from './batch-feed.ts';
import { takeSnapshot } from './batch-snapshots.ts';
import { EventHub, type HubCounts } from './event-hub.ts';
import type { HubOptions } from './hub-options.ts';
import type { LiveEvents, StreamRequest } from './live-events.ts';

export interface LiveBatchesOptions extends HubOptions, FeedOptions {
  readonly executor: BatchExecutor;
  /** The store of the executor. */
  readonly store: Store;
}

/** What happens to the batches of a store, live: here, as it happens; in other processes, as it is found in the store. */
export class LiveBatches implements LiveEvents {
  private readonly hub: EventHub;
  private readonly feed: BatchFeed;
  private readonly watch: StoreWatch;

  constructor({ executor, store, ...options }: LiveBatchesOptions) {
    this.hub = new EventHub((batch) => takeSnapshot(executor, store, batch), options);
    this.feed = new BatchFeed(executor, this.hub, options);
    this.watch = new StoreWatch(store, {
      isWanted: () => this.hub.subscribers > 0,
      changed: (batch) => this.feed.batchChanged(batch),
      gone: (batch) => this.hub.publish('cleared', batch, { batch, at: Date.now() }),
    });
  }

  get subscribers(): number {
    return this.hub.subscribers;
  }

  counts(): HubCounts {
    return this.hub.counts();
  }

  async subscribe(request: StreamRequest, response: ServerResponse): Promise<void> {
    // First: what changes between this look and the snapshot is told once more, and not never.
    await this.watch.wake();
    await this.hub.subscribe(request, response);
    // It may have gone back to sleep before there was a subscriber.
    void this.watch.wake();
  }

  async close(reason: 'shutdown'): Promise<void> {
    this.watch.close();
    await this.feed.close();
    await this.hub.close(reason);
  }
}
