import type { BatchContext } from './context.ts';
import { countsText, type TaskCounts } from './counts.ts';
import { hintText } from './hints.ts';
import { type HolderAsk, holderText } from './run/holder-requests.ts';

export interface Joined {
  readonly text: string;
  readonly counts: TaskCounts;
  readonly state: 'idle' | 'running' | 'stopping' | 'elsewhere';
}

/** Adds new open tasks to the batch if it is running, here or in another process, and reports what happens to them. */
export async function joinRun(
  { runs, store }: BatchContext,
  batch: string,
  which: 'new' | 'all' = 'new',
): Promise<Joined> {
  let run = runs.joinable(batch);
  if (run !== undefined && !run.isStopping) await run.pull(which);
  const record = (await store.batch(batch))!;
  // A run that was started in the meantime has found the open tasks itself.
  run ??= runs.joinable(batch);
  const { counts } = record;
  const holder = runs.otherHolder(record);
  if (run !== undefined) {
    return run.isStopping
      ? { state: 'stopping', counts, text: 'The batch is stopping. Start it again afterwards.' }
      : {
          state: 'running',
          counts,
          text: `The batch is running and will run them too. ${countsText(counts)}.`,
        };
  }
  const ask: HolderAsk = { action: 'join', which };
  // No answer is needed: the holder also looks for open tasks before it ends. A holder that is gone cannot be asked.
  if (holder !== undefined && (await store.ask(batch, JSON.stringify(ask))) !== undefined) {
    return {
      state: 'elsewhere',
      counts,
      text: `The batch is running in ${holderText(holder)}, which will run them too. ${countsText(counts)}.`,
    };
  }
  const next = counts.open > 0 ? ` ${hintText('start')}` : '';
  return { state: 'idle', counts, text: `It has ${countsText(counts)}.${next}` };
}
