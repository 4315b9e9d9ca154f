interface Bucket {
  left: number;
  at: number;
}

/** So many clients are remembered. */
const MAX_CLIENTS = 10_000;
/** So much can be saved up, in seconds. */
const BURST_SECONDS = 2;

/** Lets each client send so many requests in a second on average, twice that at once. */
export class RateLimiter {
  /** Those who were heard of last stand last. */
  private readonly buckets = new Map<string, Bucket>();
  private readonly most: number;
  /** The one who was heard of last: clients repeat themselves. */
  private last: { readonly client: string; readonly bucket: Bucket } | undefined;

  constructor(private readonly perSecond: number) {
    this.most = perSecond * BURST_SECONDS;
  }

  /** 0 if the client may; else the seconds after which it may try again. */
  take(client: string, now: number): number {
    if (this.last?.client !== client) this.last = { client, bucket: this.bucketOf(client, now) };
    const { bucket } = this.last;
    const passed = Math.max(0, now - bucket.at) / 1000;
    bucket.left = Math.min(this.most, bucket.left + passed * this.perSecond);
    bucket.at = now;
    if (bucket.left >= 1) {
      bucket.left--;
      return 0;
    }
    return Math.max(1, Math.ceil((1 - bucket.left) / this.perSecond));
  }

  /** Puts it behind all others. */
  private bucketOf(client: string, now: number): Bucket {
    const known = this.buckets.get(client);
    if (known !== undefined) this.buckets.delete(client);
    const bucket = known ?? { left: this.most, at: now };
    this.buckets.set(client, bucket);
    if (this.buckets.size > MAX_CLIENTS) this.forgetOne();
    return bucket;
  }

  private forgetOne(): void {
    const [oldest] = this.buckets.keys();
    if (oldest !== undefined) this.buckets.delete(oldest);
  }
}
