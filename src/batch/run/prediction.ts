import type { TimeLeft } from '../../core/predict.ts';

/** After so long a run makes a prediction that nobody has asked for yet. */
const FIRST_MS = 1000;
/** After so long a prediction is renewed. */
const FRESH_MS = 1000;
/** After so long it is worthless. */
const STALE_MS = 5000;

/**
 * How long a run will still take. Predicting costs some milliseconds, so whoever asks gets what was predicted last, less
 * the time that has passed since, and a new prediction is made behind his back. Who asks seldom waits for a new one.
 */
export class Prediction {
  private latest: TimeLeft | undefined;
  /** By the monotonic clock. */
  private madeAt = 0;
  private isDue = false;
  private first: NodeJS.Timeout | undefined;

  constructor(private readonly predict: () => TimeLeft | undefined) {}

  timeLeft(): TimeLeft | undefined {
    if (this.latest === undefined || performance.now() - this.madeAt > STALE_MS) this.make();
    const age = performance.now() - this.madeAt;
    if (age > FRESH_MS) this.renew();
    return this.latest && lessBy(this.latest, age);
  }

  /** Makes one after a while, so that the first caller finds it. */
  begin(): void {
    this.first ??= setTimeout(() => this.renew(), FIRST_MS).unref();
  }

  end(): void {
    clearTimeout(this.first);
  }

  /** Makes a new one soon. */
  private renew(): void {
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(() => {
      this.isDue = false;
      this.make();
    });
  }

  private make(): void {
    this.latest = this.predict();
    this.madeAt = performance.now();
  }
}

/** A prediction after so much time has passed. */
export function lessBy({ lowMs, expectedMs, highMs }: TimeLeft, age: number): TimeLeft {
  const after = (ms: number) => Math.max(0, Math.round(ms - age));
  return { lowMs: after(lowMs), expectedMs: after(expectedMs), highMs: after(highMs) };
}
