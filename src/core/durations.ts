import type { Random } from './random.ts';
import { Sketch } from './sketch.ts';

/** The assumed duration while nothing is known of any tool. */
const UNKNOWN_MS = 1000;
/**
 * A tool that never ran counts as so many times the mean of the others. It may take much longer than they do, and then
 * it must not start last; but two known calls in a row go first. On random graphs with half of the tools known, a factor
 * of 1 was about as good at best, and at worst twice as far above the lower bound.
 */
const CAUTION = 1.9;
/** An estimate that changed by more than this factor since the last time is a change that matters to the order. */
const NOTABLE_CHANGE = 1.25;
const RELEVANT_SAMPLES = 512;
/** Ratios are stored in thousandths. */
const RATIO_SCALE = 1000;
/** How far off a caller's estimate is assumed to be before the first one is checked. */
const OWN_ESTIMATE_SIGMA = 0.5;

/** A guess for tools that never ran, from what is known of the others. */
export class UnknownDuration {
  /** How many tools are known, and the sum of their estimates. */
  tools = 0;
  totalMs = 0;
  private estimates = 0;
  private estimatedMs = 0;
  /** Increases when an estimate changes notably. */
  version = 0;

  /** Whether any tool is known. */
  get isLearned(): boolean {
    return this.tools > 0;
  }

  /** From the mean of the tools that are known, or of what callers estimated if none is. */
  get guessMs(): number {
    if (this.isLearned) return Math.ceil((CAUTION * this.totalMs) / this.tools);
    return this.estimates === 0 ? UNKNOWN_MS : Math.ceil((CAUTION * this.estimatedMs) / this.estimates);
  }

  /** Counts a caller's estimate, which matters while no tool is known. */
  noteEstimate(ms: number): void {
    this.estimates++;
    this.estimatedMs += ms;
  }

  /** Replaces the estimate of one tool; 0 stands for none. */
  replace(beforeMs: number, afterMs: number): void {
    this.totalMs += afterMs - beforeMs;
    if (beforeMs === 0) this.tools++;
    if (afterMs === 0) this.tools--;
  }
}

/**
 * Learns how long a tool takes from its finished executions. Old samples fade, so a tool that changes is relearned. An
 * outlier does not matter, because the estimate is a trimmed mean. If callers give estimates, it also learns how far to
 * trust them.
 */
export class DurationModel {
  private sketch: Sketch | undefined;
  /** Actual durations relative to the caller's estimate. */
  private ratios: Sketch | undefined;
  /** The trimmed mean; 0 while nothing is known. */
  private mean = 0;
  /** The same as a whole number, at least 1; 0 while nothing is known. */
  private estimate = 0;
  /** The estimate when it last changed notably. */
  private notedMs = 0;
  private staleAfter = 0;

  constructor(private readonly unknown = new UnknownDuration()) {}

  /** Records a finished execution; `estimatedMs` is the caller's estimate, 0 if none. */
  learn(durationMs: number, estimatedMs = 0): void {
    this.sketch ??= new Sketch(3);
    add(this.sketch, durationMs);
    if (--this.staleAfter <= 0) {
      this.mean = this.sketch.middleMean();
      this.update(Math.max(1, Math.round(this.mean)));
      this.staleAfter = Math.min(32, 1 + (this.sketch.count >> 2));
    }
    if (estimatedMs === 0) return;
    this.ratios ??= new Sketch(3);
    add(this.ratios, (durationMs / estimatedMs) * RATIO_SCALE);
  }

  /** Whether any duration was recorded. */
  get isKnown(): boolean {
    return this.sketch !== undefined;
  }

  /** The expected duration in whole milliseconds, at least 1 so that a longer chain is always a longer path. */
  estimateMs(): number {
    return this.estimate === 0 ? this.unknown.guessMs : this.estimate;
  }

  /** The expected duration without rounding. */
  meanMs(): number {
    return this.estimate === 0 ? this.unknown.guessMs : this.mean;
  }

  /** Takes the tool out of the mean of all tools. */
  forget(): void {
    if (this.estimate !== 0) this.unknown.replace(this.estimate, 0);
    this.estimate = 0;
  }

  /** The distribution of the recorded durations, if any. Computed on each call. */
  distribution(): Distribution | undefined {
    return this.sketch && new SeenDistribution(this.sketch);
  }

  /** The factor by which executions exceed the caller's estimate. */
  ratioToEstimate(): Distribution {
    if (this.ratios === undefined) return new GuessedDistribution(1, OWN_ESTIMATE_SIGMA);
    return new SeenDistribution(this.ratios, 1 / RATIO_SCALE);
  }

  /** How far durations spread around the estimate: the standard deviation of their logarithms. */
  spread(isOfCaller: boolean): number {
    const found = isOfCaller ? this.ratioToEstimate() : this.distribution();
    return found === undefined
      ? Number.POSITIVE_INFINITY
      : Math.sqrt(Math.log1p(found.variance / found.mean ** 2));
  }

  private update(estimate: number): void {
    this.unknown.replace(this.estimate, estimate);
    this.estimate = estimate;
    const { notedMs } = this;
    if (estimate <= notedMs * NOTABLE_CHANGE && estimate * NOTABLE_CHANGE >= notedMs) return;
    this.notedMs = estimate;
    this.unknown.version++;
  }
}

function add(sketch: Sketch, value: number): void {
  if (sketch.count >= RELEVANT_SAMPLES) sketch.decay();
  sketch.add(value);
}

/** A distribution of durations to sample from, and what is known about its mean. */
export interface Distribution {
  readonly mean: number;
  readonly variance: number;
  /** The relative standard error of the mean, due to few samples. */
  readonly relativeError: number;
  draw(random: Random): number;
  /** Draws a number larger than `atLeast`. */
  drawBeyond(atLeast: number, random: Random): number;
  /**
   * The factor by which the true mean exceeds the observed one, given how long others have been running. While no
   * sample has faded, the finished executions are the shorter ones.
   */
  correctionFor(elapsed: readonly number[]): number;
}

/** A sample of the standard normal distribution. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A guess that may be off by a large factor: its median and its spread. */
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

/** The assumed spread of the logarithms before anything is seen, and the number of samples it counts as. */
const PRIOR_SIGMA = 0.6;
const PRIOR_WEIGHT = 2;
/** With few samples their spread is uncertain too: the error grows by this, divided by their number. */
const UNCERTAIN_SPREAD = 0.8;
/** How far the tail extends beyond the largest value, as a share of the spread, and its bounds. */
const TAIL_SHARE = 0.4;
const MAX_TAIL = 0.6;
const MAX_TAIL_FACTOR = 10;
/** Below this, blur makes no difference. */
const MIN_BLUR = 0.03;
/** The number of equal parts used to compute a mean. */
const SLICES = 8;
/** The share of samples that may be outliers, and the most an outlier counts relative to the others. */
const OUTLIER_SHARE = 0.01;
const OUTLIER_CAP = 3;
/** How far values may lie from their bucket's center. */
const BUCKET_ERROR = 0.07;
/** With fewer samples, outliers cannot be recognized. */
const MIN_FOR_OUTLIERS = 5;

/**
 * The values of a sketch as a distribution. Values are uniform within a bucket. The few largest count as at most three
 * times the largest of the others, so that one freak value does not spoil every prediction, while slow runs that are
 * merely rare keep their full weight.
 */
class SeenDistribution implements Distribution {
  readonly mean: number;
  readonly variance: number;
  readonly relativeError: number;
  private readonly lows: number[] = [];
  private readonly tops: number[] = [];
  /** The cumulative number of values up to and including each bucket. */
  private readonly sums: number[] = [];
  private readonly count: number;
  private readonly hasFaded: boolean;
  private readonly top: number;
  /** How far the tail extends beyond the largest value, as a mean of logarithms. */
  private readonly tail: number;
  /** The relative blur of a drawn value: large while few values were seen. */
  private readonly blur: number;

  /** `unit` is the value of 1 in the sketch. */
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
    // The logarithms reveal a long tail before any value of the tail is seen.
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
    // Longer than everything seen: besides the usual tail, it is expected to overrun by as much again.
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

  /** The value at a rank. The upper half of the largest one stands for the tail. */
  private valueAt(rank: number): number {
    const beyond = rank - this.count + 0.5;
    if (beyond > 0) return this.top * tailFactor(1 - 2 * beyond, this.tail);
    const bucket = firstAbove(this.sums, rank);
    const before = bucket === 0 ? 0 : this.sums[bucket - 1]!;
    const low = this.lows[bucket]!;
    return low + ((rank - before) / (this.sums[bucket]! - before)) * (this.tops[bucket]! - low);
  }

  /** The number of values smaller than the given one. */
  private rankOf(value: number): number {
    const bucket = firstAbove(this.tops, value);
    const before = bucket === 0 ? 0 : this.sums[bucket - 1]!;
    const low = this.lows[bucket]!;
    if (value <= low) return before;
    return before + ((value - low) / (this.tops[bucket]! - low)) * (this.sums[bucket]! - before);
  }
}

/** A random factor whose logarithm has the given mean and decays like a tail; `share` is between 0 and 1. */
function tailFactor(share: number, tail: number): number {
  return Math.min(MAX_TAIL_FACTOR, share ** -tail);
}

/** Running mean and variance. */
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

/** The factor to move the buckets by: the mean of all values is known better than each position. */
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

/** The index of the first number above the given one in a sorted list, or the last index. */
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
