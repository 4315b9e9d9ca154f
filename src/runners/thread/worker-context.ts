import { checkReport } from '../../engine/check-report.ts';
import type { ToolContext } from '../runner.ts';
import { PROGRESS, type ThreadMessage } from './protocol.ts';

/** A report that comes sooner after another waits, and the next one takes its place. */
const REPORT_EVERY_MS = 20;

/** What a function in a thread is given. Its parts are made when the function asks for them. */
export class WorkerContext implements ToolContext {
  private controller: AbortController | undefined = undefined;
  private aborted: { readonly reason: unknown } | undefined = undefined;
  /** Then its answer is a message too, which comes after the last report. */
  hasReported = false;
  private hasEnded = false;
  private share: number | undefined = undefined;
  private step: string | undefined = undefined;
  private reportedAt = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(
    readonly slot: number,
    readonly id: string,
    readonly attempt: number,
    private readonly post: (message: ThreadMessage) => void,
  ) {}

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.aborted !== undefined) this.controller.abort(this.aborted.reason);
    }
    return this.controller.signal;
  }

  get report(): ToolContext['report'] {
    return (first: number | string, second?: string) => {
      const { share, step } = checkReport(first, second);
      if (this.hasEnded) return;
      this.hasReported = true;
      this.share = share ?? this.share;
      this.step = step ?? this.step;
      const now = performance.now();
      if (now - this.reportedAt >= REPORT_EVERY_MS) this.flush(now);
      else this.timer ??= setTimeout(() => this.flush(performance.now()), REPORT_EVERY_MS);
    };
  }

  abort(reason: unknown): void {
    this.aborted = { reason };
    this.controller?.abort(reason);
  }

  throwIfAborted(): void {
    if (this.aborted !== undefined) throw this.aborted.reason;
  }

  /** The call is over: what was reported last is still told. */
  end(): void {
    if (this.timer !== undefined) this.flush(0);
    this.hasEnded = true;
  }

  private flush(now: number): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.reportedAt = now;
    this.post([PROGRESS, this.slot, this.share, this.step]);
    this.share = undefined;
    this.step = undefined;
  }
}
