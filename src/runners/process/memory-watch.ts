import { type ProcessEntry, readProcessTable } from './process-table.ts';

const INTERVAL_MS = 20;
/** The maximum share of time spent polling; with many processes it polls less often. */
const MAX_SHARE = 0.1;

/** Called repeatedly with all processes of the system, or an empty list if nobody needs them. */
export type Look = (table: readonly ProcessEntry[]) => void;

/**
 * Polls the usage of processes if the kernel does not enforce a limit itself: one timer for all, and none while nothing
 * runs.
 */
export class UsageWatch {
  private readonly looks = new Map<Look, { readonly needsTable: boolean }>();
  private timer: NodeJS.Timeout | undefined;

  /** Starts polling, until the returned function is called. */
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
    // The watched processes keep this process alive, not the polling.
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
