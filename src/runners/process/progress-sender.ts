import { checkReport } from '../../engine/check-report.ts';
import type { Report } from '../../engine/task.ts';

const WINDOW_MS = 100;
const SENT_AT_ONCE = 64;

/**
 * Sends a tool's progress reports, throttled: beyond a few per time window, only the latest state is sent, when the
 * window ends.
 */
export class ProgressSender {
  private windowEnd = 0;
  private sentInWindow = 0;
  private share: number | null = null;
  private step: string | null = null;
  private isPending = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: (body: string) => void) {}

  readonly report: Report = (first: number | string, second?: string): void => {
    const { share, step } = checkReport(first, second);
    this.set(share ?? null, step ?? null);
  };

  /** Sends the pending report, if any. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.isPending) return;
    this.isPending = false;
    this.send(JSON.stringify([this.share, this.step]));
    this.share = null;
    this.step = null;
  }

  private set(share: number | null, step: string | null): void {
    this.share = share ?? this.share;
    this.step = step ?? this.step;
    this.isPending = true;
    const now = performance.now();
    if (now >= this.windowEnd) {
      this.windowEnd = now + WINDOW_MS;
      this.sentInWindow = 0;
    }
    if (this.sentInWindow++ < SENT_AT_ONCE) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), this.windowEnd - now).unref();
  }
}
