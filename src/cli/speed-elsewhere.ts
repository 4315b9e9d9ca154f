import type { BatchExecutor } from '../batch/executor/batch-executor.ts';
import { lessBy } from '../batch/run/prediction.ts';
import type { BatchView } from '../batch/view.ts';

/** So often the process that runs the batch is asked. */
const ASK_MS = 1000;
/** An answer that is older says nothing any more. */
const STALE_MS = 5000;

/**
 * Adds to the view of a batch that another process runs what only that one knows: how fast it goes, and what is left. It
 * is asked behind the back of whoever looks.
 */
export class SpeedElsewhere {
  private latest: Awaited<ReturnType<BatchExecutor['speed']>>;
  /** By the steady clock. */
  private answeredAt = 0;
  private askedAt = Number.NEGATIVE_INFINITY;
  private asking: Promise<void> | undefined;

  constructor(private readonly executor: Pick<BatchExecutor, 'speed'>) {}

  addTo(view: BatchView): BatchView {
    if (view.state !== 'elsewhere') return view;
    const now = performance.now();
    if (this.asking === undefined && now - this.askedAt >= ASK_MS) this.asking = this.ask(view.name);
    const age = now - this.answeredAt;
    if (this.latest === undefined || age > STALE_MS) return view;
    const { ratePerSecond, timeLeft } = this.latest;
    return { ...view, ratePerSecond, timeLeft: timeLeft && lessBy(timeLeft, age) };
  }

  /** The store must stay open until then. */
  async close(): Promise<void> {
    await this.asking;
  }

  private async ask(batch: string): Promise<void> {
    this.askedAt = performance.now();
    try {
      this.latest = await this.executor.speed(batch);
      this.answeredAt = performance.now();
    } catch {
      // One that is busy, or of an older version, cannot tell: the rest is shown without it.
    } finally {
      this.asking = undefined;
    }
  }
}
