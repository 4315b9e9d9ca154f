import type { BatchView } from '../../batch/view.ts';
import type { McpCall } from './tool.ts';

/** Polling interval. The end of a batch that runs in this process is seen at once. */
const LOOK_MS = 250;
/** How many failures are logged one by one. */
const MAX_LOGGED = 20;

/** Waits until a batch has ended, the time is up, or the call is cancelled. Reports progress to the client meanwhile. */
export async function waitForEnd(
  call: McpCall,
  batch: string,
  seconds: number,
): Promise<'ended' | 'running' | 'cancelled'> {
  const { signal, backend } = call;
  const { executor } = backend;
  const progress = new BatchProgress(call.report);
  const stopLogging = logFailures(call, batch);
  const deadline = performance.now() + seconds * 1000;
  try {
    return await new Promise((resolve, reject) => {
      let isOver = false;
      const stop = () => {
        isOver = true;
        clearInterval(timer);
        stopFollowing();
        signal.removeEventListener('abort', onAbort);
      };
      const outcome = async () => {
        if (signal.aborted) return 'cancelled';
        const standing = await executor.standing(batch);
        if (signal.aborted) return 'cancelled';
        if (standing === undefined) return 'ended';
        if (isOver) return undefined;
        void progress.update(standing);
        if (standing.state === 'idle') return 'ended';
        return performance.now() >= deadline ? 'running' : undefined;
      };
      const look = async () => {
        try {
          const end = await outcome();
          if (end === undefined) return;
          stop();
          resolve(end);
        } catch (error) {
          // A store that cannot be read ends only this call.
          stop();
          reject(error);
        }
      };
      const onAbort = () => void look();
      const timer = setInterval(onAbort, LOOK_MS);
      const stopFollowing = executor.follow((event) => {
        if (event.type === 'batch-ended' && event.batch === batch) void look();
      });
      signal.addEventListener('abort', onAbort);
      void look();
    });
  } finally {
    stopLogging();
  }
}

function logFailures({ backend, log }: McpCall, batch: string): () => void {
  let count = 0;
  return backend.executor.follow((event) => {
    if (event.type !== 'failed' || event.batch !== batch || ++count > MAX_LOGGED) return;
    const { id, function: name, reason } = event;
    log('warning', { event: 'task failed', batch, id, function: name, reason });
  });
}

type Standing = Pick<BatchView, 'counts' | 'total' | 'progress'>;

/** Clients time out without messages, so progress is repeated at this interval. */
const HEARTBEAT_MS = 10_000;
/** Progress must increase with every notification. */
const MIN_STEP = 0.001;

/** Reports the progress of a batch to a client, no faster than it reads, and always increasing. */
export class BatchProgress {
  private last = -1;
  private lastAt = performance.now();
  private isSending = false;

  constructor(private readonly report: McpCall['report']) {}

  async update(view: Standing): Promise<void> {
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
      // The client disconnected, which cancels its call.
    } finally {
      this.isSending = false;
    }
  }

  private next({ progress, total, counts }: Standing): number | undefined {
    // To a client, what failed is over as well.
    const over = Math.min(total, progress * total + counts.failed + counts.cancelled);
    const value = Math.floor(over * 1000) / 1000;
    if (value > this.last) return value;
    const nudged = this.last + MIN_STEP;
    return performance.now() - this.lastAt >= HEARTBEAT_MS && nudged < total ? nudged : undefined;
  }
}

function textOf({ counts, total }: Standing): string {
  const parts = [`${counts.completed} of ${total} completed`];
  for (const status of ['running', 'failed', 'cancelled', 'skipped'] as const) {
    if (counts[status] > 0) parts.push(`${counts[status]} ${status}`);
  }
  return parts.join(', ');
}
