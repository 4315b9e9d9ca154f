import type { BatchExecutor } from '../../batch/batch-executor.ts';

/** How long changes are gathered before they are told. */
const GATHER_MS = 500;

export interface NewsReader {
  /** Something of the batch has changed. */
  changed(batch: string): void;
  /** There is a new batch. */
  added(): void;
}

/** Tells of batches that changed, each at most twice a second however much happens. The answer ends it. */
export function followBatches(executor: BatchExecutor, reader: NewsReader): () => void {
  const changed = new Set<string>();
  let isNew = false;
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    const names = [...changed];
    changed.clear();
    if (isNew) reader.added();
    isNew = false;
    for (const name of names) reader.changed(name);
  };
  const stop = executor.follow((event) => {
    changed.add(event.batch);
    if (event.type === 'added' && event.fromSeq === 1) isNew = true;
    timer ??= setTimeout(flush, GATHER_MS).unref();
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}
