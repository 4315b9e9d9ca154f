const WINDOW_S = 10;

/** How many tasks end in a second, over the last ten. Times are those of a steady clock. */
export class Throughput {
  private readonly counts = new Array<number>(WINDOW_S).fill(0);
  /** The second to which the newest count belongs. */
  private newest: number;

  constructor(private readonly startedAt: number) {
    this.newest = Math.floor(startedAt / 1000);
  }

  add(now: number): void {
    this.moveTo(now);
    this.counts[this.newest % WINDOW_S]!++;
  }

  /** Undefined while nothing has ended. */
  perSecond(now: number): number | undefined {
    this.moveTo(now);
    const ended = this.counts.reduce((sum, count) => sum + count, 0);
    const span = Math.min(now - this.startedAt, (WINDOW_S - 1) * 1000 + (now % 1000));
    return ended === 0 ? undefined : (ended * 1000) / Math.max(1, span);
  }

  private moveTo(now: number): void {
    const second = Math.floor(now / 1000);
    const steps = Math.min(WINDOW_S, second - this.newest);
    for (let step = 0; step < steps; step++) this.counts[(second - step) % WINDOW_S] = 0;
    this.newest = second;
  }
}
