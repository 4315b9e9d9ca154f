import type { Random } from './random.ts';
import { Sketch } from './sketch.ts';

/** What an execution is taken to last while nothing at all is known. */
const UNKNOWN_MS = 1000;
const RELEVANT_SAMPLES = 512;
/** Ratios are kept in whole thousandths. */
const RATIO_SCALE = 1000;
/** How far a caller's own estimate is taken to be off before the first was checked against the truth. */
const OWN_ESTIMATE_SIGMA = 0.5;

/**
 * What one tool took, as its executions finish. Old samples fade, so a tool that changes is learned anew; one
 * outlier moves nothing, because the estimate is a mean of the middle, not of all. Where callers gave estimates of
 * their own, it also learns how far those can be trusted.
 */
export class DurationModel {
  private sketch: Sketch | undefined;
  /** What executions took in relation to the estimate of the caller. */
  private ratios: Sketch | undefined;
  private estimate = 0;
  private staleAfter = 0;

  /** Takes note of a finished execution; `estimatedMs` is what the caller had expected, 0 for nothing. */
  learn(durationMs: number, estimatedMs = 0): void {
    this.sketch ??= new Sketch(3);
    add(this.sketch, durationMs);
    this.staleAfter--;
    if (estimatedMs === 0) return;
    this.ratios ??= new Sketch(3);
    add(this.ratios, (durationMs / estimatedMs) * RATIO_SCALE);
  }

  /** The expected duration in whole milliseconds, at least 1 so that a longer chain is always a longer path. */
  estimateMs(): number {
    if (this.sketch === undefined) return UNKNOWN_MS;
    if (this.staleAfter <= 0) {
      this.estimate = Math.max(1, Math.round(middleMean(this.sketch)));
      this.staleAfter = Math.min(32, 1 + (this.sketch.count >> 2));
    }
    return this.estimate;
  }

  /** The durations that were seen, or undefined if there were none. It is made anew at each call. */
  distribution(): Distribution | undefined {
    return this.sketch && new SeenDistribution(this.sketch);
  }

  /** By what factor executions take longer than the caller had expected. */
  ratioToEstimate(): Distribution {
    if (this.ratios === undefined) return new GuessedDistribution(1, OWN_ESTIMATE_SIGMA);
    return new SeenDistribution(this.ratios, 1 / RATIO_SCALE);
  }
}

function add(sketch: Sketch, value: number): void {
  if (sketch.count >= RELEVANT_SAMPLES) sketch.decay();
  sketch.add(value);
}

/** The mean of nine quantiles from 10 % to 90 %: what lies beyond has no weight. */
function middleMean(sketch: Sketch): number {
  let sum = 0;
  for (let tenth = 1; tenth <= 9; tenth++) sum += sketch.quantile(tenth / 10);
  return sum / 9;
}

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

/** The spread of the logarithms that is assumed before anything is seen, and for how many samples that counts. */
const PRIOR_SIGMA = 0.6;
const PRIOR_WEIGHT = 2;
/** With few samples their spread is uncertain too: by so much, divided by their number, the error is larger. */
const UNCERTAIN_SPREAD = 0.8;
/** How far the tail beyond the largest value reaches, as a share of the spread, and its bounds. */
const TAIL_SHARE = 0.4;
const MAX_TAIL = 0.6;
const MAX_TAIL_FACTOR = 10;
/** Below this a blur makes no difference. */
const MIN_BLUR = 0.03;
/** In how many equal parts a distribution is taken to get a mean of it. */
const SLICES = 8;
/** The share of the samples that may be outliers, and how far above the others one counts at most. */
const OUTLIER_SHARE = 0.01;
const OUTLIER_CAP = 3;
/** How far the values of a bucket may be off its middle. */
const BUCKET_ERROR = 0.07;
/** With fewer samples nobody can tell what is an outlier. */
const MIN_FOR_OUTLIERS = 5;

/**
 * The values of a sketch as a distribution. Inside a bucket all values are equally likely. The few largest values
 * count as at most three times the largest of the others, so that one freak value does not spoil every prediction,
 * while slow runs that are merely rare keep their full weight.
 */
class SeenDistribution implements Distribution {
  readonly mean: number;
  readonly variance: number;
  readonly relativeError: number;
  private readonly lows: number[] = [];
  private readonly tops: number[] = [];
  /** How many values lie in a bucket and in all before it. */
  private readonly sums: number[] = [];
  private readonly count: number;
  private readonly hasFaded: boolean;
  private readonly top: number;
  /** How far the tail reaches beyond the largest value, as a mean of logarithms. */
  private readonly tail: number;
  /** By how much a drawn value is blurred, as a share of it: much while little was seen. */
  private readonly blur: number;

  /** `unit` is what 1 in the sketch stands for. */
  constructor(sketch: Sketch, unit = 1) {
    const { count } = sketch;
    const cap = outlierCap(sketch);
    unit *= exactness(sketch);
    const values = new Moments();
    const logs = new Moments();
    let seen = 0;
    sketch.forEachBucket((low, width, inBucket) => {
      const from = unit * Math.min(low, cap);
      const to = unit * Math.min(low + width, cap);
      const middle = (from + to) / 2;
      values.add(middle, inBucket);
      logs.add(Math.log(Math.max(middle, unit / 2)), inBucket);
      seen += inBucket;
      this.lows.push(from);
      this.tops.push(to);
      this.sums.push(seen);
    });
    this.count = count;
    this.hasFaded = sketch.hasFaded;
    this.top = this.tops.at(-1)!;
    this.mean = values.mean;
    // The logarithms tell of a long tail before any value of the tail was seen.
    const relativeVariance = values.variance / Math.max(values.mean, unit / 2) ** 2;
    const spread = Math.max(Math.log1p(relativeVariance), logs.variance);
    const freedom = count - 1 + PRIOR_WEIGHT;
    const sigma2 = (count * spread + PRIOR_WEIGHT * PRIOR_SIGMA ** 2) / freedom;
    this.tail = Math.min(MAX_TAIL, TAIL_SHARE * Math.sqrt(sigma2));
    this.variance = this.mean ** 2 * Math.expm1(sigma2);
    this.relativeError = Math.sqrt(Math.expm1(sigma2) / count) * (1 + UNCERTAIN_SPREAD / freedom);
    this.blur = Math.sqrt(sigma2 / count);
  }

  draw(random: Random): number {
    const value = this.valueAt(random() * this.count);
    return this.blur < MIN_BLUR ? value : value * Math.exp(this.blur * (normal(random) - this.blur / 2));
  }

  drawBeyond(atLeast: number, random: Random): number {
    if (atLeast < this.top) {
      const passed = this.rankOf(atLeast);
      return Math.max(atLeast, this.valueAt(passed + random() * (this.count - passed)));
    }
    // Longer than everything seen: beside the usual tail it is expected to overrun by as much again.
    const overrun = this.top === 0 ? 0 : Math.log(atLeast / this.top);
    return atLeast * tailFactor(1 - random(), Math.min(MAX_TAIL, this.tail + overrun));
  }

  correctionFor(elapsed: readonly number[]): number {
    if (this.hasFaded || elapsed.length === 0 || this.mean === 0) return 1;
    let sum = this.count * this.mean;
    for (const atLeast of elapsed) {
      for (let slice = 0; slice < SLICES; slice++) {
        sum += this.drawBeyond(atLeast, () => (slice + 0.5) / SLICES) / SLICES;
      }
    }
    return sum / (this.mean * (this.count + elapsed.length));
  }

  /** The value of which `rank` values are smaller. The upper half of the largest one stands for the tail beyond it. */
  private valueAt(rank: number): number {
    const beyond = rank - this.count + 0.5;
    if (beyond > 0) return this.top * tailFactor(1 - 2 * beyond, this.tail);
    const bucket = firstAbove(this.sums, rank);
    const before = bucket === 0 ? 0 : this.sums[bucket - 1]!;
    const low = this.lows[bucket]!;
    return low + ((rank - before) / (this.sums[bucket]! - before)) * (this.tops[bucket]! - low);
  }

  /** How many values are smaller than the given one. */
  private rankOf(value: number): number {
    const bucket = firstAbove(this.tops, value);
    const before = bucket === 0 ? 0 : this.sums[bucket - 1]!;
    const low = this.lows[bucket]!;
    if (value <= low) return before;
    return before + ((value - low) / (this.tops[bucket]! - low)) * (this.sums[bucket]! - before);
  }
}

/** A factor whose logarithm has the given mean and falls off like a tail does; `share` is a number from 0 to 1. */
function tailFactor(share: number, tail: number): number {
  return Math.min(MAX_TAIL_FACTOR, share ** -tail);
}

/** Mean and variance of numbers as they come. */
class Moments {
  private count = 0;
  private sum = 0;
  private squares = 0;

  add(value: number, times: number): void {
    this.count += times;
    this.sum += value * times;
    this.squares += value ** 2 * times;
  }

  get mean(): number {
    return this.sum / this.count;
  }

  get variance(): number {
    return Math.max(0, this.squares / this.count - this.mean ** 2);
  }
}

/** By what factor the buckets must be moved: the mean of all values is known better than the place of each. */
function exactness(sketch: Sketch): number {
  let sum = 0;
  sketch.forEachBucket((low, width, count) => {
    sum += (low + width / 2) * count;
  });
  return sum === 0 ? 1 : Math.min(1 + BUCKET_ERROR, Math.max(1 - BUCKET_ERROR, sketch.sum / sum));
}

function outlierCap(sketch: Sketch): number {
  if (sketch.count < MIN_FOR_OUTLIERS) return Number.POSITIVE_INFINITY;
  const outliers = Math.max(1, Math.floor(sketch.count * OUTLIER_SHARE));
  return OUTLIER_CAP * Math.max(1, sketch.quantile(1 - (outliers + 0.5) / sketch.count));
}

/** The place of the first number above the given one in a rising list, or the last place. */
function firstAbove(rising: readonly number[], value: number): number {
  let first = 0;
  let last = rising.length - 1;
  while (first < last) {
    const middle = (first + last) >> 1;
    if (rising[middle]! > value) last = middle;
    else first = middle + 1;
  }
  return first;
}
