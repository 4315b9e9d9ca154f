import type { StoreWatch } from '../../store/store-watch.ts';
import { batchUri, resultsUri } from './batch-uris.ts';

export interface ChangeReader {
  /** The resource has changed. */
  changed(uri: string): void;
  /** Batches were added or removed. */
  listChanged(): void;
}

/** Reports batches that change from now on, in whichever process, each at most twice a second. Returns how to stop. */
export function followChanges(watch: StoreWatch, reader: ChangeReader): () => void {
  // First: what changed while nobody looked is not for this reader.
  const stop = watch.start();
  let isListDue = false;
  const listChanged = () => {
    if (isListDue) return;
    // One look may find many that came or went: that is one change of the list.
    isListDue = true;
    queueMicrotask(() => {
      isListDue = false;
      reader.listChanged();
    });
  };
  const changed = (batch: string, isListChanged: boolean) => {
    reader.changed(batchUri(batch));
    reader.changed(resultsUri(batch));
    if (isListChanged) listChanged();
  };
  let unlisten: (() => void) | undefined;
  let isOver = false;
  void watch.ready().then(() => {
    if (!isOver) unlisten = watch.listen({ changed, gone: (batch) => changed(batch, true) });
  });
  return () => {
    isOver = true;
    unlisten?.();
    stop();
  };
}
