import type { Random } from '../random.ts';

/** How long something may take: numbers that can be drawn, and what is known of their mean. */
export interface Distribution {
  readonly mean: number;
  readonly variance: number;
  /** The standard error of the mean as a share of it: how far the mean may be off because little was seen. */
  readonly relativeError: number;
  draw(random: Random): number;
  /** A number drawn from those that are larger than `atLeast`. */
  drawBeyond(atLeast: number, random: Random): number;
  /**
   * By what factor the mean is larger than it seems, given for how long others are running already. Those that have
   * ended are the shorter ones as long as nothing that was seen has faded.
   */
  correctionFor(elapsed: readonly number[]): number;
}

/** A number of the standard normal distribution. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A guess from which the truth may differ by a large factor: its median, and how wide the guess is. */
export class GuessedDistribution implements Distribution {
  readonly mean: number;
  readonly variance: number;
  readonly relativeError: number;

  constructor(
    private readonly median: number,
    private readonly sigma: number,
  ) {
    const growth = Math.exp(sigma ** 2);
    this.mean = median * Math.sqrt(growth);
    this.variance = this.mean ** 2 * (growth - 1);
    this.relativeError = Math.sqrt(growth - 1);
  }

  draw(random: Random): number {
    return this.median * Math.exp(this.sigma * normal(random));
  }

  drawBeyond(atLeast: number, random: Random): number {
    for (let attempt = 0; attempt < 8; attempt++) {
      const value = this.draw(random);
      if (value > atLeast) return value;
    }
    return atLeast * (1 + this.sigma * random());
  }

  correctionFor(): number {
    return 1;
  }
}
