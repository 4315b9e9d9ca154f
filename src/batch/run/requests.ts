import { setTimeout as sleep } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import type { TimeLeft } from '../../core/predict.ts';
import { reasonText, spanText } from '../../core/words.ts';
import type { LeaseHolder } from '../../store/records.ts';
import type { HolderRequest, Store } from '../../store/store.ts';
import type { BatchRun } from './batch-run.ts';

/** What can be asked of the process that runs a batch. */
export type HolderAsk =
  | { readonly action: 'stop'; readonly now: boolean }
  | { readonly action: 'cancel'; readonly ids?: readonly string[] }
  | { readonly action: 'speed' }
  /** Tasks were added or opened again; nobody waits for an answer. */
  | { readonly action: 'join'; readonly which: 'new' | 'all' };

/** How fast a batch goes, and how long it will still take, as far as that is known. */
export interface Speed {
  readonly ratePerSecond: number | undefined;
  readonly timeLeft: TimeLeft | undefined;
}

/** `count`: of the tasks that still run, or were cancelled. `speed`: where that was asked. */
export type HolderAnswer =
  | { readonly ok: true; readonly count: number; readonly speed?: Speed }
  | { readonly ok: false; readonly message: string };

/** Other processes write requests without an event. Looking for them is a lookup in a table that is mostly empty. */
const POLL_MS = 200;

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
  const timer = setInterval(() => void look(), POLL_MS).unref();
  void run.done.then(() => {
    isDone = true;
    clearInterval(timer);
  });
}

async function serve(run: BatchRun, store: Store, { id, body }: HolderRequest): Promise<void> {
  const answer = await answerTo(run, body);
  try {
    if (answer === undefined) await store.forget(id);
    else await store.answer(id, JSON.stringify(answer));
  } catch {
    // Whoever asked learns it from how the batch stands.
  }
}

/** Undefined where nobody waits for an answer. */
async function answerTo(run: BatchRun, body: string): Promise<HolderAnswer | undefined> {
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

export const CANCEL_REASON = 'cancelled by request';

/** Longer than what runs may take to obey. */
const WAIT_MS = 15_000;
const ANSWER_POLL_MS = 50;

/**
 * Asks the process that runs a batch, through the store, and waits for its answer: how many tasks it is about.
 * Undefined if nobody runs it any more. Throws if it does not answer, and takes the request back.
 */
export async function askHolder(
  context: { readonly store: Store },
  batch: string,
  holder: LeaseHolder,
  ask: HolderAsk,
): Promise<number | undefined> {
  return (await waitForAnswer(context, batch, holder, ask))?.count;
}

/** The same, of how fast the batch goes. */
export async function askSpeed(
  context: { readonly store: Store },
  batch: string,
  holder: LeaseHolder,
): Promise<Speed | undefined> {
  return (await waitForAnswer(context, batch, holder, { action: 'speed' }))?.speed;
}

async function waitForAnswer(
  { store }: { readonly store: Store },
  batch: string,
  holder: LeaseHolder,
  ask: HolderAsk,
): Promise<Extract<HolderAnswer, { ok: true }> | undefined> {
  const request = await store.ask(batch, JSON.stringify(ask));
  if (request === undefined) return undefined;
  try {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      // In this order: one that is gone now may have answered before.
      const isRun = (await store.batch(batch))?.holder !== undefined;
      const answer = await store.answerTo(request);
      if (answer !== undefined) return checked(JSON.parse(answer) as HolderAnswer, batch, holder);
      if (!isRun) return undefined;
      if (performance.now() > deadline) throw silent(batch, holder);
      await sleep(ANSWER_POLL_MS);
    }
  } finally {
    await store.forget(request);
  }
}

/** Waits until nobody runs a batch any more, for as long as what runs may take to obey. Says whether that is so. */
export async function untilReleased({ store }: { readonly store: Store }, batch: string): Promise<boolean> {
  const deadline = performance.now() + WAIT_MS;
  while ((await store.batch(batch))?.holder !== undefined) {
    if (performance.now() > deadline) return false;
    await sleep(ANSWER_POLL_MS);
  }
  return true;
}

function checked(
  answer: HolderAnswer,
  batch: string,
  holder: LeaseHolder,
): Extract<HolderAnswer, { ok: true }> {
  if (answer.ok) return answer;
  throw new VolleyError(
    'BATCH_HELD',
    `The batch ${JSON.stringify(batch)} is run by ${holderText(holder)}, which could not do it: ${answer.message}`,
    { batch, holder },
  );
}

function silent(batch: string, holder: LeaseHolder): VolleyError {
  return new VolleyError(
    'BATCH_HELD',
    `The batch ${JSON.stringify(batch)} is run by ${holderText(holder)}, which has not answered for ${spanText(WAIT_MS)}, ` +
      'so nothing was changed: it may be suspended or very busy. Try again, or end that process.',
    { batch, holder },
  );
}

export function holderText({ pid, host }: LeaseHolder): string {
  return `process ${pid} on ${host}`;
}
