import { setTimeout as sleep } from 'node:timers/promises';
import { VolleyError } from '../core/errors.ts';
import { spanText } from '../core/words.ts';
import type { LeaseHolder } from '../store/records.ts';
import type { BatchContext } from './context.ts';
import { holderText } from './names.ts';
import type { BatchView } from './view.ts';

/** What can be asked of the process that runs a batch. */
export type HolderAsk =
  | { readonly action: 'stop'; readonly now: boolean }
  | { readonly action: 'cancel'; readonly ids?: readonly string[] }
  | { readonly action: 'speed' }
  /** Tasks were added or opened again; nobody waits for an answer. */
  | { readonly action: 'join'; readonly which: 'new' | 'all' };

/** How fast a batch goes, and how long it will still take, as far as that is known. */
export type Speed = Pick<BatchView, 'ratePerSecond' | 'timeLeft'>;

/** `count`: of the tasks that still run, or were cancelled. `speed`: where that was asked. */
export type HolderAnswer =
  | { readonly ok: true; readonly count: number; readonly speed?: Speed }
  | { readonly ok: false; readonly message: string };

export const CANCEL_REASON = 'cancelled by request';

/** Longer than what runs may take to obey. */
const WAIT_MS = 15_000;
const LOOK_MS = 50;

/**
 * Asks the process that runs a batch, through the store, and waits for its answer: how many tasks it is about.
 * Undefined if nobody runs it any more. Throws if it does not answer, and takes the request back.
 */
export async function askHolder(
  context: Pick<BatchContext, 'store'>,
  batch: string,
  holder: LeaseHolder,
  ask: HolderAsk,
): Promise<number | undefined> {
  return (await answerOf(context, batch, holder, ask))?.count;
}

/** The same, of how fast the batch goes. */
export async function askSpeed(
  context: Pick<BatchContext, 'store'>,
  batch: string,
  holder: LeaseHolder,
): Promise<Speed | undefined> {
  return (await answerOf(context, batch, holder, { action: 'speed' }))?.speed;
}

async function answerOf(
  { store }: Pick<BatchContext, 'store'>,
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
      await sleep(LOOK_MS);
    }
  } finally {
    await store.forget(request);
  }
}

/** Waits until nobody runs a batch any more, for as long as what runs may take to obey. Says whether that is so. */
export async function untilReleased({ store }: BatchContext, batch: string): Promise<boolean> {
  const deadline = performance.now() + WAIT_MS;
  while ((await store.batch(batch))?.holder !== undefined) {
    if (performance.now() > deadline) return false;
    await sleep(LOOK_MS);
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
