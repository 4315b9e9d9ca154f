/**
 * A histogram of integers with buckets that grow with the value: bounded memory, and quantiles with a bounded relative
 * error (about 1.6 % with 5 bits, 6 % with 3). Our own, because the core imports no package.
 */
export class Sketch {
  private readonly buckets: Uint32Array;
  private readonly bits: number;
  count = 0;
  sum = 0;
  max = 0;
  private halvings = 0;

  constructor(bits = 5) {
    this.bits = bits;
    this.buckets = new Uint32Array((32 - bits) << bits);
  }

  add(value: number): void {
    this.buckets[this.bucketOf(value)]!++;
    this.count++;
    this.sum += value;
    if (value > this.max) this.max = value;
  }

  /** Whether older values count less than newer ones. */
  get hasFaded(): boolean {
    return this.halvings > 0;
  }

  mean(): number {
    return this.count === 0 ? 0 : this.sum / this.count;
  }

  /** The quantile `q`; 0 while the histogram is empty. */
  quantile(q: number): number {
    if (this.count === 0) return 0;
    let left = Math.max(1, Math.ceil(q * this.count));
    for (let bucket = 0; bucket < this.buckets.length; bucket++) {
      left -= this.buckets[bucket]!;
      if (left <= 0) return Math.min(this.max, this.middleOf(bucket));
    }
    return this.max;
  }

  /** The mean of the quantiles from 10 % to 90 % in steps of 10 %, which ignores the tails. */
  middleMean(): number {
    let sum = 0;
    let tenth = 1;
    let seen = 0;
    for (let bucket = 0; bucket < this.buckets.length && tenth < 10; bucket++) {
      seen += this.buckets[bucket]!;
      for (; tenth < 10 && seen >= Math.max(1, Math.ceil((tenth / 10) * this.count)); tenth++)
        sum += Math.min(this.max, this.middleOf(bucket));
    }
    return sum / 9;
  }

  /** Halves the weight of everything seen so far, so that new values count more. */
  decay(): void {
    this.count = 0;
    this.sum /= 2;
    // The odd remainder moves to the next bucket: rounding down everywhere would lose rare values. Every other time the
    // first bucket gets one more, or rare values would drift upwards.
    this.halvings++;
    let carry = this.halvings & 1;
    for (let bucket = 0; bucket < this.buckets.length; bucket++) {
      const weight = this.buckets[bucket]! + carry;
      carry = weight & 1;
      const kept = weight >> 1;
      this.buckets[bucket] = kept;
      this.count += kept;
    }
  }

  /** Calls back for each non-empty bucket, lowest first: its values are from `low` to `low + width`. */
  forEachBucket(callback: (low: number, width: number, count: number) => void): void {
    for (let bucket = 0; bucket < this.buckets.length; bucket++) {
      const count = this.buckets[bucket]!;
      if (count === 0) continue;
      const excess = Math.max(0, (bucket >> this.bits) - 1);
      const width = bucket === 0 ? 0 : 2 ** excess;
      callback(this.middleOf(bucket) - width / 2, width, count);
    }
  }

  /** Values below 2^(bits+1) have a bucket each; above, 2^bits buckets share each power of two. */
  private bucketOf(value: number): number {
    const whole = value < 0 ? 0 : value > 0x7fffffff ? 0x7fffffff : value | 0;
    const excess = 31 - this.bits - Math.clz32(whole);
    if (excess <= 0) return whole;
    return (excess << this.bits) + (whole >>> excess);
  }

  private middleOf(bucket: number): number {
    const excess = (bucket >> this.bits) - 1;
    if (excess <= 0) return bucket;
    const low = (bucket - (excess << this.bits)) * 2 ** excess;
    return low + (2 ** excess - 1) / 2;
  }
}
