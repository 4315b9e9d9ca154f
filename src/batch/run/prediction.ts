import type { TimeLeft } from '../../core/predict.ts';

/** The first prediction is made after this time, before it is asked for. */
const FIRST_MS = 1000;
/** An older prediction is renewed. */
const FRESH_MS = 1000;
/** The maximum share of time spent predicting. */
const MAX_SHARE = 0.01;
/** An older prediction is not used any more. */
const STALE_MS = 5000;

/**
 * Predicts the time left of a run. A prediction takes some milliseconds, so callers get the last one, less the time
 * passed since, while a new one is made in the background. A caller waits only if the last one is stale.
 */
export class Prediction {
  private latest: TimeLeft | undefined;
  /** By the monotonic clock. */
  private madeAt = -Infinity;
  private freshMs = FRESH_MS;
  private isDue = false;
  private first: NodeJS.Timeout | undefined;

  constructor(private readonly predict: () => TimeLeft | undefined) {}

  timeLeft(): TimeLeft | undefined {
    // That nothing can be predicted is soon found out, and soon no longer true.
    const isStale = performance.now() - this.madeAt > Math.max(STALE_MS, this.freshMs);
    if (isStale || this.latest === undefined) this.make();
    const age = performance.now() - this.madeAt;
    if (age > this.freshMs) this.renew();
    return this.latest && lessBy(this.latest, age);
  }

  /** Schedules the first prediction, so that the first caller need not wait. */
  begin(): void {
    this.first ??= setTimeout(() => this.renew(), FIRST_MS).unref();
  }

  end(): void {
    clearTimeout(this.first);
  }

  /** Schedules a new prediction. */
  private renew(): void {
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(() => {
      this.isDue = false;
      // A caller may have waited for one meanwhile.
      if (performance.now() - this.madeAt > this.freshMs) this.make();
    });
  }

  private make(): void {
    const start = performance.now();
    this.latest = this.predict();
    this.madeAt = performance.now();
    this.freshMs = Math.max(FRESH_MS, (this.madeAt - start) / MAX_SHARE);
  }
}

/** Reduces a prediction by the time that has passed. */
export function lessBy({ lowMs, expectedMs, highMs }: TimeLeft, age: number): TimeLeft {
  const after = (ms: number) => Math.max(0, Math.round(ms - age));
  return { lowMs: after(lowMs), expectedMs: after(expectedMs), highMs: after(highMs) };
}
