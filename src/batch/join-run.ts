import type { BatchContext } from './context.ts';
import { countsText, type TaskCounts } from './counts.ts';
import type { HolderAsk } from './holder-ask.ts';
import { holderText } from './names.ts';

export interface Joined {
  readonly text: string;
  readonly counts: TaskCounts;
  readonly state: 'idle' | 'running' | 'stopping' | 'elsewhere';
}

/** Lets tasks that were just opened join the batch if it runs, and says what happens to them. */
export async function joinRun(
  { runs, store }: BatchContext,
  batch: string,
  which: 'new' | 'all' = 'new',
): Promise<Joined> {
  let run = runs.joinable(batch);
  if (run !== undefined && !run.isStopping) await run.pull(which);
  const record = (await store.batch(batch))!;
  // One that was started meanwhile has looked for open tasks itself.
  run ??= runs.joinable(batch);
  const { counts } = record;
  const holder = runs.otherHolder(record);
  if (run !== undefined) {
    return run.isStopping
      ? { state: 'stopping', counts, text: 'The batch is being stopped: start it again afterwards.' }
      : { state: 'running', counts, text: `The batch is running, and runs them too. ${countsText(counts)}.` };
  }
  const ask: HolderAsk = { action: 'join', which };
  // Whether it answers or not: it looks for open tasks at its end, too. One that has just gone cannot be asked.
  if (holder !== undefined && (await store.ask(batch, JSON.stringify(ask))) !== undefined) {
    return {
      state: 'elsewhere',
      counts,
      text: `The batch is run by ${holderText(holder)}, which takes them too. ${countsText(counts)}.`,
    };
  }
  const next = counts.open > 0 ? ' Run it with "start".' : '';
  return { state: 'idle', counts, text: `It has ${countsText(counts)}.${next}` };
}
