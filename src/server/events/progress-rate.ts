/** What a rate needs of time, so that a test can move it. */
export interface RateClock {
  now(): number;
  /** Calls once, later; the answer cancels that. */
  after(ms: number, call: () => void): () => void;
}

const REAL_CLOCK: RateClock = {
  now: () => performance.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Passes the first report of each source at once, and later ones at most once in a span: of those that come sooner, the
 * newest is passed when the span is over.
 */
export class ProgressRate<T> {
  /** By source, ordered by the moment from which on the next report may pass. */
  private readonly sources = new Map<string, { readonly dueAt: number; waiting: T | undefined }>();
  private cancelTimer: (() => void) | undefined;

  constructor(
    private readonly spanMs: number,
    private readonly pass: (report: T) => void,
    private readonly clock: RateClock = REAL_CLOCK,
  ) {}

  add(source: string, report: T): void {
    const known = this.sources.get(source);
    if (known === undefined) this.passNow(source, report);
    else known.waiting = report;
  }

  /** Something else happened to the source: a report that waits is out of date, and the next one passes at once. */
  forget(source: string): void {
    this.sources.delete(source);
  }

  close(): void {
    this.cancelTimer?.();
    this.sources.clear();
  }

  private passNow(source: string, report: T): void {
    this.sources.set(source, { dueAt: this.clock.now() + this.spanMs, waiting: undefined });
    this.cancelTimer ??= this.clock.after(this.spanMs, this.passDue);
    this.pass(report);
  }

  private readonly passDue = (): void => {
    const now = this.clock.now();
    const due: [source: string, report: T][] = [];
    for (const [source, { dueAt, waiting }] of this.sources) {
      if (dueAt > now) break;
      this.sources.delete(source);
      if (waiting !== undefined) due.push([source, waiting]);
    }
    const [next] = this.sources.values();
    this.cancelTimer = next && this.clock.after(next.dueAt - now, this.passDue);
    for (const [source, report] of due) this.passNow(source, report);
  };
}
