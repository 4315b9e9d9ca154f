import { type ProcessEntry, readProcessTable } from './process-table.ts';

const INTERVAL_MS = 20;
/** Looking may take this share of the time at most; with many processes it is done less often instead. */
const MAX_SHARE = 0.1;

/** Called again and again with all processes of the system, or with none where nobody needs them. */
export type Look = (table: readonly ProcessEntry[]) => void;

/**
 * Looks at what processes use, where the kernel does not keep a limit itself: one timer for all that run, and none
 * while nothing does.
 */
export class UsageWatch {
  private readonly looks = new Map<Look, { readonly needsTable: boolean }>();
  private timer: NodeJS.Timeout | undefined;

  /** Begins to look, until the function that it gives back is called. */
  add(look: Look, options: { readonly needsTable: boolean }): () => void {
    this.looks.set(look, options);
    if (this.timer === undefined) this.schedule(INTERVAL_MS);
    return () => {
      this.looks.delete(look);
      if (this.looks.size > 0) return;
      clearTimeout(this.timer);
      this.timer = undefined;
    };
  }

  private schedule(delayMs: number): void {
    // What is watched keeps this process alive, not the watching.
    this.timer = setTimeout(() => this.lookAtAll(), delayMs).unref();
  }

  private lookAtAll(): void {
    this.timer = undefined;
    const start = performance.now();
    const needsTable = [...this.looks.values()].some((options) => options.needsTable);
    const table = needsTable ? readProcessTable() : [];
    for (const look of [...this.looks.keys()]) look(table);
    const tookMs = performance.now() - start;
    if (this.looks.size > 0 && this.timer === undefined)
      this.schedule(Math.max(INTERVAL_MS, tookMs / MAX_SHARE));
  }
}
