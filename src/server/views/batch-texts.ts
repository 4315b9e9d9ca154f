import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { Store } from '../../store/store.ts';
import { batchBody } from './batch-body.ts';

/** What another process changes is seen after so long at the latest. */
const FRESH_MS = 50;
const MAX_KEPT = 1000;

interface BatchText {
  readonly text: string;
  /** Its length, as a header says it. */
  readonly bytes: string;
  readonly until: number;
}

/**
 * How batches stand, as JSON text. Many clients ask for the same batch again and again: it is read from the store once
 * until something is written or a moment has passed.
 */
export class BatchTexts {
  private readonly kept = new Map<string, BatchText>();
  /** Rises with every change: what was read before one is not kept. */
  private changes = 0;
  private readonly unlisten: () => void;

  constructor(
    private readonly executor: BatchExecutor,
    store: Pick<Store, 'onCommit'>,
  ) {
    this.unlisten = store.onCommit(() => this.clear());
  }

  /** What is known without reading; `now` is by the steady clock. */
  known(batch: string, now: number): BatchText | undefined {
    const known = this.kept.get(batch);
    return known !== undefined && known.until > now ? known : undefined;
  }

  /** Undefined if there is no such batch. */
  async read(batch: string, now: number): Promise<BatchText | undefined> {
    const { changes } = this;
    const view = await this.executor.view(batch);
    if (view === undefined) return undefined;
    const text = JSON.stringify(batchBody(view));
    const found = { text, bytes: String(Buffer.byteLength(text)), until: now + FRESH_MS };
    if (changes !== this.changes) return found;
    if (this.kept.size >= MAX_KEPT) this.kept.clear();
    this.kept.set(batch, found);
    return found;
  }

  /** Something has changed, or may have. */
  clear(): void {
    this.changes++;
    this.kept.clear();
  }

  close(): void {
    this.unlisten();
  }
}
