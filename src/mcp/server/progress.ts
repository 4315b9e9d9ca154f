import type { BatchView } from '../../batch/view.ts';
import type { McpCall } from './tool.ts';

type Standing = Pick<BatchView, 'counts' | 'total' | 'progress'>;

/** A client that hears nothing for too long gives up, so it hears from time to time that work goes on. */
const HEARTBEAT_MS = 10_000;
/** Every notification must tell of more than the one before. */
const MIN_STEP = 0.001;

/** Tells a client how far a batch is: never more than it can take, and always more than before. */
export class BatchProgress {
  private last = -1;
  private lastAt = performance.now();
  private isSending = false;

  constructor(private readonly report: McpCall['report']) {}

  /** To be called again and again. */
  async tell(view: Standing): Promise<void> {
    const { report } = this;
    if (report === undefined || this.isSending || view.total === 0) return;
    const value = this.next(view);
    if (value === undefined) return;
    this.last = value;
    this.lastAt = performance.now();
    this.isSending = true;
    try {
      await report(value, view.total, textOf(view));
    } catch {
      // It went away: its call is cancelled for that reason.
    } finally {
      this.isSending = false;
    }
  }

  private next({ progress, total }: Standing): number | undefined {
    const value = Math.floor(progress * total * 1000) / 1000;
    if (value > this.last) return value;
    const nudged = this.last + MIN_STEP;
    return performance.now() - this.lastAt >= HEARTBEAT_MS && nudged < total ? nudged : undefined;
  }
}

function textOf({ counts, total }: Standing): string {
  const { completed, failed, skipped, cancelled, running } = counts;
  const parts = [`${completed + failed + skipped + cancelled} of ${total} done`];
  if (running > 0) parts.push(`${running} running`);
  if (failed > 0) parts.push(`${failed} failed`);
  return parts.join(', ');
}
