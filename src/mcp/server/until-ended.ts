import { BatchProgress } from './progress.ts';
import type { McpCall } from './tool.ts';

/** Between two looks at the batch; its end is heard at once, if it is run here. */
const LOOK_MS = 250;
/** So many failures are logged one by one. */
const MOST_LOGGED = 20;

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
  const deadline = Date.now() + seconds * 1000;
  try {
    return await new Promise((resolve) => {
      const settle = (outcome: 'ended' | 'running' | 'cancelled') => {
        clearInterval(timer);
        stopFollowing();
        signal.removeEventListener('abort', look);
        resolve(outcome);
      };
      const look = () => {
        if (signal.aborted) return settle('cancelled');
        const standing = executor.standing(batch);
        if (standing !== undefined) void progress.tell(standing);
        if (standing === undefined || standing.state === 'idle') settle('ended');
        else if (Date.now() >= deadline) settle('running');
      };
      const timer = setInterval(look, LOOK_MS);
      const stopFollowing = executor.follow((event) => {
        if (event.type === 'batch-ended' && event.batch === batch) look();
      });
      signal.addEventListener('abort', look);
      look();
    });
  } finally {
    stopLogging();
  }
}

function logFailures({ backend, log }: McpCall, batch: string): () => void {
  let count = 0;
  return backend.executor.follow((event) => {
    if (event.type !== 'failed' || event.batch !== batch || ++count > MOST_LOGGED) return;
    const { id, function: name, reason } = event;
    log('warning', { event: 'task failed', batch, id, function: name, reason });
  });
}
