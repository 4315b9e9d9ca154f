/** A worker has spare calls at hand for about this time, which is several times the way to the coordinator and back. */
const SPARE_MS = 10;
const MAX_SPARE = 64;
/** What counts as the duration of a call when others had to wait for it. */
const SLOW_MS = 1000;
/** The weight of the newest duration. */
const WEIGHT = 0.1;

/**
 * Follows how long the calls of a worker take, and decides how many it may have waiting beyond its slots: as many as it
 * finishes in a moment. Long calls get none, because one that waits behind them could start elsewhere.
 */
export class WorkerPace {
  private averageMs: number | undefined;
  private spare = 0;

  constructor(private readonly slots: number) {}

  note(durationMs: number | undefined): void {
    if (durationMs === undefined || !(durationMs >= 0)) return;
    const { averageMs = durationMs } = this;
    this.averageMs = averageMs + WEIGHT * (durationMs - averageMs);
  }

  slowDown(): void {
    this.averageMs = Math.max(this.averageMs ?? 0, SLOW_MS);
  }

  /** The number of spare calls, if it is different from the last answer by more than a little. */
  newSpare(): number | undefined {
    const { averageMs, spare } = this;
    if (averageMs === undefined) return undefined;
    const wanted = Math.min(MAX_SPARE, Math.floor((this.slots * SPARE_MS) / Math.max(averageMs, 0.01)));
    // Each change makes the engine look at what waits.
    if (wanted === spare || (wanted > 0 && Math.abs(wanted - spare) < MAX_SPARE / 4)) return undefined;
    this.spare = wanted;
    return wanted;
  }
}
