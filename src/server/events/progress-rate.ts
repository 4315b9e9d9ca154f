import { systemTiming, type Timing } from '../../batch/timing.ts';

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
    private readonly timing: Timing = systemTiming(() => performance.now()),
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
    this.sources.set(source, { dueAt: this.timing.now() + this.spanMs, waiting: undefined });
    this.cancelTimer ??= this.timing.after(this.spanMs, this.passDue);
    this.pass(report);
  }

  private readonly passDue = (): void => {
    const now = this.timing.now();
    const due: [source: string, report: T][] = [];
    for (const [source, { dueAt, waiting }] of this.sources) {
      if (dueAt > now) break;
      this.sources.delete(source);
      if (waiting !== undefined) due.push([source, waiting]);
    }
    const [next] = this.sources.values();
    this.cancelTimer = next && this.timing.after(next.dueAt - now, this.passDue);
    for (const [source, report] of due) this.passNow(source, report);
  };
}
