import { BatchProgress } from './progress.ts';
import type { McpCall } from './tool.ts';

/** Between two looks at the batch; its end is heard at once, if it is run here. */
const LOOK_MS = 250;
/** So many failures are logged one by one. */
const MAX_LOGGED = 20;

/** Waits until nothing of a batch runs, for so long, or until the call is cancelled; tells the client how far it is. */
export async function untilEnded(
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
      const stop = () => {
        isOver = true;
        clearInterval(timer);
        stopFollowing();
        signal.removeEventListener('abort', onAbort);
      };
      let isOver = false;
      const outcome = async () => {
        if (signal.aborted) return 'cancelled';
        const standing = await executor.standing(batch);
        if (signal.aborted) return 'cancelled';
        if (standing === undefined) return 'ended';
        if (isOver) return undefined;
        void progress.tell(standing);
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
          // A store that cannot be read is the end of this call, and of nothing else.
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
