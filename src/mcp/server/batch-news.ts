import type { Store } from '../../store/store.ts';
import { StoreWatch } from '../../store/store-watch.ts';
import { batchUri, resultsUri } from './batch-uris.ts';

export interface NewsReader {
  /** What can be read there has changed. */
  changed(uri: string): void;
  /** Batches have come or gone. */
  listChanged(): void;
}

/**
 * Tells of batches that changed, in whichever process, each at most twice a second however much happens. The store is
 * looked at while somebody reads the news, once for all of them, and not otherwise.
 */
export class BatchNews {
  private readonly readers = new Set<NewsReader>();
  private readonly watch: StoreWatch;
  private isTellingList = false;

  constructor(store: Store) {
    this.watch = new StoreWatch(store, {
      isWanted: () => this.readers.size > 0,
      changed: (batch, isNew) => this.tell(batch, isNew),
      gone: (batch) => this.tell(batch, true),
    });
  }

  /** The answer ends it. */
  follow(reader: NewsReader): () => void {
    void this.watch.wake();
    this.readers.add(reader);
    return () => {
      this.readers.delete(reader);
      if (this.readers.size === 0) this.watch.close();
    };
  }

  private tell(batch: string, isListChanged: boolean): void {
    for (const reader of this.readers) {
      reader.changed(batchUri(batch));
      reader.changed(resultsUri(batch));
    }
    if (!isListChanged || this.isTellingList) return;
    // One look may find many that came or went: that is one change of the list.
    this.isTellingList = true;
    queueMicrotask(() => {
      this.isTellingList = false;
      for (const reader of this.readers) reader.listChanged();
    });
  }
}
