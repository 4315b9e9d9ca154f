import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import type { HolderRequest, Store } from '../../store/store.ts';
import { CANCEL_REASON, type HolderAnswer, type HolderAsk } from '../holder-ask.ts';
import type { BatchRun } from './batch-run.ts';

/** No event tells of another process's writing: it is looked for, and it costs a lookup in a table that is mostly empty. */
const LOOK_MS = 200;

/** Does what other processes ask of the one that runs a batch, until the run is done. */
export function serveRequests(run: BatchRun, store: Store): void {
  const serving = new Set<number>();
  let isDone = false;
  const look = async () => {
    let found: HolderRequest[];
    try {
      found = await store.asked(run.batch);
    } catch {
      // The run itself hears of a store that is out of order.
      return;
    }
    if (isDone) return;
    for (const request of found) {
      if (serving.has(request.id)) continue;
      serving.add(request.id);
      void serve(run, store, request);
    }
  };
  const timer = setInterval(() => void look(), LOOK_MS).unref();
  void run.done.then(() => {
    isDone = true;
    clearInterval(timer);
  });
}

async function serve(run: BatchRun, store: Store, { id, body }: HolderRequest): Promise<void> {
  const answer = await answerOf(run, body);
  try {
    if (answer === undefined) await store.forget(id);
    else await store.answer(id, JSON.stringify(answer));
  } catch {
    // Whoever asked learns it from how the batch stands.
  }
}

/** Undefined where nobody waits for an answer. */
async function answerOf(run: BatchRun, body: string): Promise<HolderAnswer | undefined> {
  try {
    const ask = JSON.parse(body) as HolderAsk;
    switch (ask.action) {
      case 'stop':
        run.stop({ now: ask.now });
        return { ok: true, count: runningOf(run) };
      case 'cancel':
        return { ok: true, count: await run.cancel(ask.ids ?? 'all', CANCEL_REASON) };
      case 'speed':
        return { ok: true, count: runningOf(run), speed: run.speed() };
      case 'join':
        if (!run.isStopping && !run.hasEnded) await run.pull(ask.which);
        return undefined;
      default:
        throw new VolleyError(
          'UNKNOWN_ACTION',
          'The process that runs the batch does not know this request.',
        );
    }
  } catch (error) {
    return { ok: false, message: reasonText(error) };
  }
}

function runningOf({ tasks }: BatchRun): number {
  let count = 0;
  for (const { handle } of tasks.values()) if (handle.status === 'running') count++;
  return count;
}
